"""For ``--quick``: everything is done, nothing is done well."""

from __future__ import annotations

from typing import Any, Final

from dln_bench._names import ABLATIONS
from dln_bench.models._models import OURS

DATASETS: Final = ("yacht", "estate", "mpg")
MODELS: Final = ("tree", "dln-paper")
TRIALS: Final = 2

_PAGE: Final = {"n_generations": 1, "n_grown_rules": 100, "n_teachers": 1}


def settings(model: str) -> dict[str, Any]:
    """Return the parameters of a model that a quick run sets, in the search and in the last fit alike."""
    if model in {"mlp", "dln-paper", "dln-paper-3", "dln-paper-default", *ABLATIONS}:
        return {"max_epochs": 20}
    if model == "ebm":
        return {"outer_bags": 1, "max_rounds": 50}
    if model in OURS:
        return {name: value for name, value in _PAGE.items() if name not in OURS[model]}
    return {}
