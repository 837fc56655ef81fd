"""dln: regression models that people can read."""
