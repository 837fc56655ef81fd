"""What the benchmark leaves out to fit into hours instead of weeks: one table, told with every result.

The paper searched with 32 to 128 trials on a cluster. Here slow models search on fewer rows or for fewer epochs, and
are then fitted to all rows without those limits. ``dln-bench run --full`` uses none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from dln_bench._names import ABLATIONS, MODELS

#: "cut": the table below; "full": nothing is cut; "quick": a minute for all, to see that everything works.
Budget: TypeAlias = Literal["cut", "full", "quick"]


@dataclass(frozen=True, slots=True)
class Cut:
    """What is cut for one model."""

    #: Rows that are searched on, at most.
    max_rows: int | None = None
    #: Trials, at most. 0: no search, the model's defaults.
    max_trials: int | None = None
    #: Parameters of the model while it is searched for, and of the model that is tested.
    search: Mapping[str, Any] = field(default_factory=dict)
    final: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        said = []
        if self.max_trials is not None:
            said.append(f"at most {self.max_trials} trials" if self.max_trials else "no search, the defaults")
        if self.max_rows is not None:
            said.append(f"search on at most {self.max_rows} rows")
        if self.search:
            said.append(f"search with {_settings(self.search)}")
        if self.final:
            said.append(f"tested with {_settings(self.final)}")
        return "; ".join(said)

    def told(self, trials: int, n_rows: int) -> str | None:
        """Return what this cut does to a unit of so many trials and training rows, in words; None: nothing."""
        searched = self.max_trials != 0
        said = []
        if self.max_trials is not None and trials > self.max_trials:
            said.append(f"{self.max_trials} of {trials} trials" if searched else "no search, the defaults")
        if searched and self.max_rows is not None and n_rows > self.max_rows:
            said.append(f"search on {self.max_rows} of {n_rows} rows")
        if searched and self.search:
            said.append(f"search with {_settings(self.search)}")
        if self.final:
            said.append(f"tested with {_settings(self.final)}")
        return "; ".join(said) or None


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


_NETWORK: Final = Cut(max_rows=2000, search={"max_epochs": 300, "n_iter_no_change": 60})

#: The cuts by model. A model that is not named is not cut.
CUTS: Final[dict[str, Cut]] = {
    "adaboost": Cut(max_rows=2000),
    "forest": Cut(max_rows=4000),
    "svr": Cut(max_rows=2000),
    "mlp": Cut(max_rows=2000, search={"max_epochs": 100, "n_iter_no_change": 15}),
    "lightgbm": Cut(max_rows=4000),
    "dln-paper": _NETWORK,
    # As it ships: its defaults are what most people will use.
    "dln": Cut(max_trials=0),
    # A default fit averages 14 bags and takes minutes. On concrete, two bags at this rate took a third of the time of
    # two at the default rate of 0.015, with R² 0.940 and 0.938.
    "ebm": Cut(max_trials=0, final={"outer_bags": 2, "learning_rate": 0.05}),
    **dict.fromkeys(ABLATIONS, _NETWORK),
}

_QUICK_PAGE: Final = {"max_epochs": 5, "n_generations": 1, "n_grown_rules": 100, "n_teachers": 1, "n_networks": 1}

#: For ``--quick``: everything is done, nothing is done well.
QUICK: Final[dict[str, Cut]] = {
    name: Cut(max_rows=200, search={"max_epochs": 5}, final={"max_epochs": 20})
    if name in {"mlp", "dln-paper", *ABLATIONS}
    else Cut(max_rows=200, search=_QUICK_PAGE, final={**_QUICK_PAGE, "max_epochs": 20})
    if name == "dln"
    else Cut(max_rows=200, search={"outer_bags": 1, "max_rounds": 50}, final={"outer_bags": 1, "max_rounds": 50})
    if name == "ebm"
    else Cut(max_rows=200)
    for name in (*MODELS, *ABLATIONS)
}

#: Models from cheap to dear: an interrupted run has something of everything.
ORDER: Final = (
    "linear",
    "ridge",
    "lasso",
    "tree",
    "knn",
    "lightgbm",
    "forest",
    "adaboost",
    "svr",
    "mlp",
    "dln-paper",
    "dln",
    "ebm",
    *ABLATIONS,
)


def cut_of(model: str, budget: Budget) -> Cut:
    """Return what a budget cuts for a model."""
    if budget == "full":
        return Cut()
    return (QUICK if budget == "quick" else CUTS).get(model, Cut())
