"""The model as an ONNX graph: plain comparisons, logic and sums of the default domain, in double and int64.

Not the tree operators of the machine-learning domain: they take float32, and rows cross cut-offs on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Final

from dln._errors import ExportError, import_extra
from dln._version import __version__
from dln.circuit._circuit import Above, Column, IsIn, IsMissing
from dln.export._form import AllOf, AnyOf, Check, Differ, Expression, Form, Part, category_kind, check_columns
from dln.export._language import exported_by

#: The first opset whose Equal compares texts, and the version of the file format that came with it.
OPSET: Final = 19
IR_VERSION: Final = 9


def to_onnx(form: Form) -> bytes:
    """Return the model as the bytes of an ONNX file.

    One input per column, of shape ``(rows,)``, by the column's name: double, NaN where missing, or string for text.
    Where a rule tests whether a text is missing, there is a second input ``"<name> is missing"``, bool.
    """
    check_columns(form, "ONNX")
    onnx = import_extra("onnx", "to_onnx", "export")
    graph = _Graph(form, onnx)
    model = onnx.helper.make_model(
        graph.finish(),
        producer_name="dln",
        producer_version=__version__,
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        doc_string=f"{form.title()}\n{exported_by('onnx')}",
    )
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def input_columns(form: Form) -> list[tuple[int, Column]]:
    """Return the columns that are inputs: those that rules read, or if there are none the first, for the row count."""
    return form.columns or [(0, form.circuit.columns[0])]


def missing_name(form: Form, j: int) -> str | None:
    """Return the name of the input for missing values of a text column, if a rule tests them."""
    column = form.circuit.columns[j]
    if column.categories is None or category_kind(column, "ONNX") != "text" or IsMissing(j) not in form.literals():
        return None
    return f"{column.name} is missing"


class _Graph:
    """Collects nodes; a value is named once, and equal values share their node."""

    def __init__(self, form: Form, onnx: Any) -> None:
        self.form, self.onnx = form, onnx
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, Any], str] = {}
        self.tensors: list[Any] = []
        self.inputs: list[Any] = []
        self.known: dict[Expression, str] = {}
        self.taken = {"prediction"}
        self.columns: dict[int, str] = {}
        self.missing: dict[int, str] = {}
        for j, column in input_columns(form):
            is_text = column.categories is not None and category_kind(column, "ONNX") == "text"
            self.columns[j] = self._input(column.name, "STRING" if is_text else "DOUBLE")
            if (name := missing_name(form, j)) is not None:
                self.missing[j] = self._input(name, "BOOL")
        self.parts: list[str] = []
        for part in form.parts:  # one after the other: a part may name those before it
            self.parts.append(self.expression(part))

    def finish(self) -> Any:
        """Return the graph: the rules' weights summed in int64, scaled once in double."""
        shape = self._node("Shape", [next(iter(self.columns.values()))])
        total = self._node("Expand", [self._constant("INT64", self.form.intercept), shape])
        for rule in self.form.rules:
            if isinstance(rule.expression, bool):
                steps = self._constant("INT64", rule.steps if rule.expression else 0)
            else:
                weight, zero = self._constant("INT64", rule.steps), self._constant("INT64", 0)
                steps = self._node("Where", [self.expression(rule.expression), weight, zero], words=rule.text)
            total = self._node("Add", [total, steps])
        cast = self._node("Cast", [total], to=self.onnx.TensorProto.DOUBLE)
        scale = self._constant("DOUBLE", self.form.scale)
        self._node("Div" if self.form.decimals >= 0 else "Mul", [cast, scale], output="prediction")
        outputs = [self._info("prediction", "DOUBLE")]
        return self.onnx.helper.make_graph(self.nodes, "dln", self.inputs, outputs, self.tensors)

    def expression(self, expression: Expression) -> str:
        """Return the name of a bool tensor that is true where the expression holds."""
        if expression not in self.known:
            self.known[expression] = self._expression(expression)
        return self.known[expression]

    def _expression(self, expression: Expression) -> str:
        match expression:
            case bool():
                return self._constant("BOOL", expression)
            case Part(number, negated):
                return self._node("Not", [self.parts[number]]) if negated else self.parts[number]
            case Check(literal, negated):
                return self._node("Not", [self.expression(Check(literal))]) if negated else self._literal(expression)
            case AllOf(of) | AnyOf(of):
                operator = "And" if isinstance(expression, AllOf) else "Or"
                return self._chain(operator, map(self.expression, of))
            case Differ(a, b, negated):
                differs = self._node("Xor", [self.expression(a), self.expression(b)])
                return self._node("Not", [differs]) if negated else differs

    def _literal(self, check: Check) -> str:
        j = check.literal.column
        column = self.form.circuit.columns[j]
        match check.literal:
            case Above(cutoff=cutoff):
                return self._node("Greater", [self.columns[j], self._constant("DOUBLE", cutoff)])
            case IsIn(codes=codes):
                categories = column.categories or ()
                kind = "STRING" if category_kind(column, "ONNX") == "text" else "DOUBLE"
                known = [self._constant(kind, categories[code]) for code in codes]
                return self._chain("Or", (self._node("Equal", [self.columns[j], one]) for one in known))
            case _:
                return self.missing[j] if j in self.missing else self._node("IsNaN", [self.columns[j]])

    def _chain(self, operator: str, values: Iterable[str]) -> str:
        return reduce(lambda a, b: self._node(operator, [a, b]), list(values))

    def _node(self, operator: str, inputs: list[str], *, words: str = "", output: str = "", **attributes: Any) -> str:
        name = output or self._name(f"{operator.lower()}_{len(self.nodes)}")
        node = self.onnx.helper.make_node(operator, inputs, [name], name=f"{name}_node", **attributes)
        node.doc_string = words
        self.nodes.append(node)
        return name

    def _constant(self, kind: str, value: Any) -> str:
        if (kind, value) not in self.constants:
            name = self._name(f"constant_{len(self.tensors)}")
            values = [value.encode()] if kind == "STRING" else [value]
            tensor = self.onnx.helper.make_tensor(name, getattr(self.onnx.TensorProto, kind), [], values)
            self.tensors.append(tensor)
            self.constants[kind, value] = name
        return self.constants[kind, value]

    def _input(self, name: str, kind: str) -> str:
        if not name or name in self.taken:
            raise ExportError(
                f"ONNX needs names for all inputs, but {name!r} is empty or taken: rename the column and fit again"
            )
        self.taken.add(name)
        self.inputs.append(self._info(name, kind))
        return name

    def _info(self, name: str, kind: str) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), ["rows"])

    def _name(self, wanted: str) -> str:
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted
