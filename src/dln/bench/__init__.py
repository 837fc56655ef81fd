"""The paper's evaluation: its datasets, its models and ours, and the protocol that compares them.

`dln.bench.datasets` loads the tables; ``dln bench run`` runs the protocol and ``dln bench report`` tells what came out.
"""
