"""``dln-bench list``: datasets and models."""

from __future__ import annotations

from dln.cli import _options


def list_all(*, as_json: _options.Json = False) -> None:
    """List the datasets, with rows, columns and licence, and the models."""
    from rich.table import Table

    from dln.circuit._words import thousands
    from dln.cli._terminal import print_json, show
    from dln_bench import datasets as library
    from dln_bench._names import GROUPS, TITLES
    from dln_bench.models._models import find

    known = {name: library.facts(name) for name in library.names()}
    if as_json:
        print_json(
            {
                "datasets": [
                    {
                        "name": name,
                        "title": fact.title,
                        "rows": fact.expected_rows,
                        "numbers": len(fact.continuous),
                        "categories": len(fact.categorical),
                        "target": fact.target,
                        "origin": fact.origin,
                        "licence": fact.licence,
                    }
                    for name, fact in known.items()
                ],
                "models": [{"name": name, "title": title} for name, title in TITLES.items()],
                "groups": GROUPS,
            }
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("dataset", "rows", "numbers", "categories", "target", "licence", "origin"):
        table.add_column(heading, justify="right" if heading in {"rows", "numbers", "categories"} else "left")
    for name, fact in known.items():
        counts = (thousands(fact.expected_rows), str(len(fact.continuous)), str(len(fact.categorical)))
        table.add_row(name, *counts, fact.target, fact.licence, fact.origin)
    models = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("model", "title", "searched"):
        models.add_column(heading)
    for name, title in TITLES.items():
        models.add_row(name, title, "yes" if find(name).space else "no")
    groups = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("group", "models"):
        groups.add_column(heading)
    for name, members in GROUPS.items():
        groups.add_row(name, ", ".join(members))
    show(table, "", models, "", groups)
