"""Conformance harness for out-of-tree PyTorch devices."""

__version__ = "0.1.0"
