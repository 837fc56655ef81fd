"""Learning: from a table to the rules of a one-page model.

Teachers steady the target, networks and greedy growth propose candidate rules, selection and polish choose among them
within a budget of conditions, and weights are solved for at the end.
"""
