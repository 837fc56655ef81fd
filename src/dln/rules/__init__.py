"""`RuleRegressor`'s learner: from a table to a page of rules. `_learn` reads as the algorithm."""
