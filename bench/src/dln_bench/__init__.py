"""The evaluation of dln: its datasets, the models that are compared, and the protocol that compares them.

`dln_bench.datasets` loads the tables; ``dln-bench run`` runs units, ``dln-bench report`` writes tables and figures.
"""
