"""Readers of a circuit: rules, explanations, pictures, charts, formulas, intervals, files."""
