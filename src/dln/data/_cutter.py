"""Cut-offs in scaled units → literals with short cut-offs in the user's units."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, IsMissing, Values
from dln.circuit._cutoffs import shortest_between
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE, Graph
from dln.data._encoding import ENCODED_MISSING, Encoder, scale


class Cut(NamedTuple):
    """A place between the values of a scaled column: above a cut-off, or at it too."""

    k: int
    cutoff: float
    or_equal: bool = False


class Cutter:
    """Turns places between scaled values into literals with cut-offs in the user's units."""

    def __init__(self, graph: Graph, encoder: Encoder, values: Sequence[Values], rows: npt.NDArray[np.intp]) -> None:
        self.graph, self._encoder, self._values = graph, encoder, values
        # The set of numbers does not depend on the order of rows, and columns are read faster from top to bottom.
        self._rows = None if len(rows) == len(values[0]) else np.sort(rows)
        self._resolved: dict[Cut, Above | int] = {}

    def look_up(self, cuts: Iterable[Cut]) -> None:
        """Find the cut-offs of many places at once: a column's numbers are sorted once, and forgotten.

        Above a place below all known numbers is what is not missing; above one that no number is above is nothing.
        """
        for k, group in itertools.groupby(sorted(set(cuts) - self._resolved.keys()), key=lambda cut: cut.k):
            scaled = self._encoder.scaled[k]
            known, has_missing = self._known(scaled.column)
            missing = self.graph.literal(IsMissing(scaled.column)) if has_missing else FALSE_EDGE
            encoded, of_column = scale(scaled, known), list(group)
            for or_equal in (False, True):
                some = [cut for cut in of_column if cut.or_equal is or_equal]
                numbers_below = np.searchsorted(encoded, [cut.cutoff for cut in some], "left" if or_equal else "right")
                for cut, n_below in zip(some, numbers_below.tolist(), strict=True):
                    if n_below == 0:
                        self._resolved[cut] = TRUE_EDGE if cut.cutoff < ENCODED_MISSING else missing ^ 1
                    elif n_below == len(known):
                        self._resolved[cut] = FALSE_EDGE
                    else:
                        shortest = shortest_between(float(known[n_below - 1]), float(known[n_below]))
                        self._resolved[cut] = Above(scaled.column, shortest)

    def above(self, cut: Cut) -> int:
        """Return the edge of "a scaled column is above (or at) the cut-off" on the training rows."""
        if cut not in self._resolved:
            self.look_up([cut])
        resolved = self._resolved[cut]
        return self.graph.literal(resolved) if isinstance(resolved, Above) else resolved

    def _known(self, column: int) -> tuple[Values, bool]:
        """Return the distinct known numbers of a column, ascending, and whether some are missing."""
        values = self._values[column]
        known = np.unique(values if self._rows is None else values[self._rows])
        has_missing = bool(np.isnan(known[-1]))
        return known[: len(known) - has_missing] + known.dtype.type(0), has_missing  # 0.0, never -0.0
