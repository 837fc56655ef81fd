"""``python -m dln_bench.cli``."""

from dln_bench.cli import main

main()
