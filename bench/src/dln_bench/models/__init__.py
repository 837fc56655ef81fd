"""The models that are compared, how tables are prepared for them, and where their parameters are searched."""
