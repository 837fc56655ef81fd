"""``python -m dln.cli`` is ``dln``."""

from dln.cli import main

main()
