"""Models changed by hand: rules dropped, added, changed and frozen, and weights solved for again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from dln._regressor import MAX_ROWS, CircuitRegressor, Rows
from dln._saving import frontier_of_one, without_unused_categories
from dln.circuit._build import constant, with_rules
from dln.circuit._circuit import Circuit, Column, Values
from dln.circuit._constraints import Constraint, check_constraints, weight_signs
from dln.circuit._formula import Formula, formula
from dln.circuit._parse import parse_rule
from dln.circuit._words import formula_text
from dln.circuit.bits import PreparedCircuit
from dln.data._division import Counts, LabelledRows, fold_weights
from dln.data._reader import with_categories_of
from dln.data._rows import Bools, Floats
from dln.data._target import Target
from dln.readers._monitor import rule_support
from dln.solve._select import distinct
from dln.solve._weights import Loss, refitted_weights, rule_values, with_weights

#: Folds that predict rows held out of a refit.
FOLDS = 5


class EditableRegressor(CircuitRegressor):
    """A regressor whose fitted rules can be edited."""

    _constraints: tuple[Constraint, ...] = ()

    def edit(
        self,
        *,
        drop: Sequence[int] = (),
        add: Sequence[str] = (),
        change: Mapping[int, str] | None = None,
        freeze: Sequence[int] | None = None,
        X: Any = None,
    ) -> Self:
        """Return a fitted copy with some of its rules dropped, added, changed or frozen; the model stays as it is.

        Rules are named by their number in ``rules_``, counted from 0: ``rules_[3]`` is rule 3, as is row 3 of
        ``rules_.to_pandas()``. They are written as they are printed. The copy has no smaller models, and no support of
        its rules where one is new, until `refit`.

        Parameters
        ----------
        drop : sequence of int
            Rules to leave out.
        add : sequence of str
            Rules to add, like ``'age > 60 and smoker = "yes"'``; they weigh 0 until `refit`.
        change : mapping of int to str, optional
            Rules to put in the place of others, whose weights they keep until `refit`.
        freeze : sequence of int, optional
            Rules whose weights `refit` keeps, instead of those frozen before.
        X : table, optional
            Rows with categories that new rules name and no rule of the model does: a model forgets these.

        Returns
        -------
        RuleRegressor or DLNRegressor

        Raises
        ------
        RuleSyntaxError
            If a rule cannot be read.

        """
        check_is_fitted(self)
        table, circuit, changes = self.rules_, self.circuit_, dict(change or {})
        dropped, changing = _numbers("drop", drop, len(table)), _numbers("change", changes, len(table))
        freezing = [] if freeze is None else _numbers("freeze", freeze, len(table))
        for option, numbers in (("change", changing), ("freeze", freezing)):
            if both := set(dropped) & set(numbers):
                raise ValueError(f"a rule can be dropped or kept, but rule {min(both)} is both in drop and in {option}")
        if X is not None:
            circuit = replace(circuit, columns=with_categories_of(X, circuit.columns))
        known = [row.rule for number, row in enumerate(table) if number not in {*dropped, *changing}]
        added = new_rules("add", add, circuit.columns, known)
        written = new_rules("change", changes.values(), circuit.columns, [*known, *added])
        changed = dict(zip(changing, written.items(), strict=True))
        frozen = getattr(self, "frozen_", ()) if freeze is None else [table[k].index for k in freezing]
        kept = sorted(set(range(len(table))).difference(dropped), key=lambda k: table[k].index)
        rules: list[tuple[int | Formula, float]] = [
            (changed[k][1] if k in changed else circuit.rules[table[k].index].node, table[k].weight) for k in kept
        ]
        edited = with_rules(circuit, [*rules, *((meaning, 0.0) for meaning in added.values())])
        own = self._frontier.own
        record: dict[str, Any] = {
            "dropped": [table[k].rule for k in dropped],
            "added": list(added),
            "changed": [(table[k].rule, text) for k, (text, _) in changed.items()],
            "frozen": [table[k].rule for k in freezing],
        }
        return self._with_circuit(
            without_unused_categories([edited])[0],
            {name: rules for name, rules in record.items() if rules},
            None if changed or added else [table[k].support for k in kept],
            # Rules that weigh nothing change no prediction.
            r2=None if dropped or changed or own is None else own.r2,
            intervals_=None if dropped or changed else getattr(self, "intervals_", None),
            frozen_=[place for place, k in enumerate(kept) if table[k].index in frozen] or None,
        )

    def _refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return a fitted copy of the same rules with weights solved for on these rows, except those of frozen rules.

        Support, intervals, held-out R² and the facts of the training become those of these rows. Every row is predicted
        by weights that were solved for without it; on rows that the rules themselves were learned from, intervals are
        still too narrow, and R² is too high: `calibrate` with others.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of `fit`.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        RuleRegressor or DLNRegressor

        """
        check_is_fitted(self)
        circuit, loss, frozen = self.circuit_, Loss(self.loss, self.quantile), list(getattr(self, "frozen_", ()))
        rows = Rows(self, X, y, sample_weight, None, circuit.columns)
        some = rows.sample(MAX_ROWS)
        target, fires = rows.target, rule_values(circuit, some.values)
        given = np.full(len(circuit.rules), np.nan)
        given[frozen] = [circuit.rules[k].weight / target.spread for k in frozen]
        decimals = max(target.decimals, circuit.decimals) if frozen else target.decimals
        task = (fires, some.y, some.weight, some.counts, loss, given, weight_signs(circuit, self._constraints))
        # One thread: the last bits of a matrix product depend on their number.
        with threadpool_limits(limits=1):
            new, held_out = weighted(circuit, refitted_weights(*task), target, decimals), _held_out(*task)
        network = {name: self.training_facts_[name] for name in ("network",) if name in self.training_facts_}
        model = self._with_circuit(
            new,
            {"refitted": rows.table.n_rows},
            rule_support(list(fires), some.weight),
            r2=None if held_out is None else loss.explained(*held_out),
            intervals_=None,
            training_facts_=rows.facts(new) | network,
            target_name_=rows.target_name or getattr(self, "target_name_", None),
        )
        if held_out is not None:
            true, predicted, weight = held_out
            true, predicted = (target.mean + target.spread * part for part in (true, predicted))
            model._set_intervals(predicted, true, weight, "folds", scale=None)  # noqa: SLF001 (same class)
        return model

    def _with_circuit(
        self,
        circuit: Circuit,
        record: Mapping[str, Any],
        support: list[float] | None,
        r2: float | None = None,
        **fitted: Any,
    ) -> Self:
        """Return a copy with another circuit, or raise `ConstraintError` if it does not keep the constraints."""
        check_constraints(circuit, self._constraints, self._target())
        if "training_facts_" not in fitted:  # profiles of the columns that are as they were
            pairs = zip(self.circuit_.columns, circuit.columns, strict=True)
            same = {old.name for old, column in pairs if old.categories == column.categories}
            profile = {name: one for name, one in self.training_facts_.get("profile", {}).items() if name in same}
            facts = {name: one for name, one in self.training_facts_.items() if name not in {"profile", "predictions"}}
            fitted["training_facts_"] = facts | ({"profile": profile} if profile else {})
        fitted |= {"circuit_": circuit, "_frontier": frontier_of_one(circuit, support, r2), "support_": support}
        fitted |= {"network_circuit_": circuit} if hasattr(self, "network_circuit_") else {}
        fitted["edits_"] = [*getattr(self, "edits_", ()), *([record] if record else [])] or None
        new = object.__new__(type(self))  # copy.copy would compute the smaller models of a network
        attributes = {**vars(self), **fitted, "_prepared": PreparedCircuit(circuit)}
        gone = {"_pending", *(name for name, value in fitted.items() if value is None)}
        vars(new).update({name: value for name, value in attributes.items() if name not in gone})  # type: ignore[attr-defined]
        return new


def new_rules(
    option: str, texts: Iterable[str], columns: tuple[Column, ...], known: Collection[str] = ()
) -> dict[str, Formula]:
    """Return rules that are written, as printed, with their formulas, or raise where one is constant or known."""
    given = [] if isinstance(texts, str) else list(texts)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in given):
        raise ValueError(f"{option} must hold rules as text, like ['age > 60'], got {texts!r}")
    others = "" if option == "fixed_rules" else "; others must be in the rows of X, or of --data"
    rules: dict[str, Formula] = {}
    for text in given:
        meaning = parse_rule(text, columns, others)
        if (value := constant(meaning, columns)) is not None:
            raise ValueError(f"the rule {text!r} {'always' if value else 'never'} holds: a rule must tell rows apart")
        printed = formula_text(meaning, columns)
        if printed in known or printed in rules:
            raise ValueError(f"the rule {text!r} is in the model already: a rule can be there once")
        rules[printed] = meaning
    return rules


def _numbers(option: str, given: Any, n_rules: int) -> list[int]:
    """Return the numbers of rules in a list of the user's, each once."""
    numbers = list(given) if isinstance(given, Iterable) else [given]
    wrong = [k for k in numbers if isinstance(k, bool) or not isinstance(k, Integral) or not 0 <= int(k) < n_rules]
    if wrong or not isinstance(given, Iterable):
        raise ValueError(
            f"{option} must be a list of rules by number, from 0 to {n_rules - 1}, got {(wrong or numbers)[0]!r}"
        )
    return list(dict.fromkeys(map(int, numbers)))


# --- rules that a fit must have ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedRules:
    """Rules that are in the model of every size: the others are learned from what these leave of the target."""

    circuit: Circuit
    """The fixed rules alone."""
    rows: LabelledRows
    loss: Loss
    constraints: tuple[Constraint, ...]

    @cached_property
    def solved(self) -> tuple[float, Floats]:
        """The intercept and the weights of the fixed rules alone, for the standardised target."""
        return self._solved(self.circuit, rule_values(self.circuit, self.rows.values))

    @threadpool_limits.wrap(limits=1)
    def predict(self, values: Sequence[Values]) -> Floats:
        """Return what the fixed rules predict by themselves."""
        intercept, weights = self.solved
        return intercept + weights @ rule_values(self.circuit, values)

    def r2(self, of_rest: float) -> float:
        """Return the R² of a model, given that of the learned rules for what the fixed ones leave."""
        left = 1.0 - self.loss.explained(self.rows.y, self.predict(self.rows.values), self.rows.weight)
        return 1.0 - left * (1.0 - of_rest)

    @threadpool_limits.wrap(limits=1)
    def joined(self, learned: Circuit, target: Target) -> Circuit:
        """Return the circuit of the fixed and of learned rules, all weights solved for together.

        Learned rules that fire on the same rows as a fixed one, or on all others, are left out.
        """
        n_fixed = len(self.circuit.rules)
        nodes = [formula(self.circuit, rule.node) for rule in self.circuit.rules] + [one.node for one in learned.rules]
        both = with_rules(learned, [(node, 0.0) for node in nodes])
        fires = rule_values(both, self.rows.values)
        kept = sorted({*range(n_fixed), *distinct(fires).tolist()})
        both = with_rules(both, [(both.rules[k].node, 0.0) for k in kept])
        return weighted(both, self._solved(both, fires[kept]), target, target.decimals)

    def _solved(self, circuit: Circuit, fires: Bools) -> tuple[float, Floats]:
        rows, signs = self.rows, weight_signs(circuit, self.constraints)
        return refitted_weights(fires, rows.y, rows.weight, rows.counts, self.loss, signs=signs, division=rows.division)


# --- weights ----------------------------------------------------------------------------------------------------------


def weighted(circuit: Circuit, solved: tuple[float, Floats], target: Target, decimals: int) -> Circuit:
    """Return a circuit with other weights, solved for the standardised target."""
    bare = replace(circuit, rules=(), intercept=0.0, decimals=decimals)
    return with_weights(bare, [rule.node for rule in circuit.rules], *solved, target)


def _held_out(
    fires: Bools, y: Floats, weight: Floats, counts: Counts, loss: Loss, given: Floats, signs: Sequence[int] | None
) -> tuple[Floats, Floats, Floats] | None:
    """Return targets, predictions and weights of held-out rows, each predicted without it; None of too few rows."""
    if len(y) < 2 * FOLDS:
        return None
    parts = []
    for part in fold_weights(weight, FOLDS, counts):
        left, aside = np.flatnonzero(weight > part), np.flatnonzero(part)
        intercept, weights = refitted_weights(
            fires[:, left], y[left], (weight - part)[left], counts[left], loss, given, signs
        )
        parts.append((y[aside], intercept + weights @ fires[:, aside], part[aside]))
    true, predicted, weights = (np.concatenate(some) for some in zip(*parts, strict=True))
    return true, predicted, weights
