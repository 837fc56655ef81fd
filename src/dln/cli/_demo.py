"""``dln demo``: the main job in one go."""

from __future__ import annotations


def demo() -> None:
    """Train on a small table that comes along, compare with other models, show the rules."""
    from dln.demo import main

    main()
