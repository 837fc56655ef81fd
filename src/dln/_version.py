"""The version of dln: what it learns from the same data may differ from one to the next."""

__version__ = "0.1.0"
