"""The models that are compared, the preparation of tables for them, and their search spaces."""
