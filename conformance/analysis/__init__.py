"""Pure functions: rows of the database in, findings out."""
