"""What people do with a circuit: one reader each for rules, explanations, pictures, formulas, files."""
