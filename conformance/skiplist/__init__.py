"""Skiplists: load, match, edit; nothing reads them yet."""
