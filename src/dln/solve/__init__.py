"""Exact weights of rules, selection within a budget, and losses: shared by both learners."""
