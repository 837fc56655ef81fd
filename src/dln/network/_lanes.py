"""Thirty-two float32 numbers, the rows of a batch that are computed together, as one Numba value.

LLVM vectorises plain loops only if it can prove that arrays do not overlap, and keeps no row of an array in registers
from one loop to the next. A value of type `lanes` is an LLVM vector: it stays in registers, whatever their width on the
machine. A number beside it stands for a value with that number in every lane.

    mixture = splat(0.0)
    for k in range(n):
        mixture = mixture + probabilities[k] * load(signal, rows[k])
    store(signal, row, mixture)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any, Final, TypeAlias

import numba
from llvmlite import ir

#: Numbers in one value of type `lanes`.
LANES: Final = 32
# Sums may be reordered and fused; NaN and infinity keep their meaning.
_FLAGS: Final = ("contract", "reassoc", "nsz", "arcp")
_INT32: Final = ir.IntType(32)
_FLOAT: Final = ir.FloatType()
_VECTOR: Final = ir.VectorType(_FLOAT, LANES)
_INTEGERS: Final = ir.VectorType(_INT32, LANES)
_LOG2_E: Final = 1.4426950408889634
# Minimax polynomial of 2**f on [0, 1] with relative error below 1e-7: LLVM does not vectorise exp by itself.
_EXP2: Final = (1.0, 0.6931513118294802, 0.24016444987287555, 0.05579991409460651, 0.00901702896815921,
                0.0018671306997685966)  # fmt: skip
_Builder: TypeAlias = ir.IRBuilder
_Emit: TypeAlias = Callable[..., ir.Value]
# Numba's own types are partial: what follows is typed by hand.
_numba: Any = numba
_types, _extending, _templates = _numba.types, _numba.extending, _numba.core.typing.templates


class _Lanes(numba.types.Type):
    def __init__(self) -> None:
        super().__init__(name="lanes")


lanes: Final = _Lanes()
_extending.register_model(_Lanes)(lambda manager, kind: _extending.models.PrimitiveModel(manager, kind, _VECTOR))


def _operand(builder: _Builder, value: ir.Value) -> ir.Value:
    """Return a value of type `lanes` as it is, a number repeated in every lane."""
    if value.type == _VECTOR:
        return value
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, _INT32(0))
    return builder.shuffle_vector(vector, vector, _constant(0, _INTEGERS))


def _constant(value: float, kind: ir.VectorType = _VECTOR) -> ir.Constant:
    return ir.Constant(kind, [value] * LANES)


def _call(builder: _Builder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    """Call one of LLVM's own functions of `lanes`."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = _numba.core.cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f32")
    return builder.call(function, arguments, fastmath=_FLAGS)


def _address(context: Any, builder: _Builder, array: Any, memory: ir.Value, index: ir.Value) -> ir.Value:
    """Return the address of the numbers at one index of a contiguous array, seen as ``(-1, LANES)``."""
    start = builder.mul(index, index.type(LANES))
    pointer = builder.gep(context.make_array(array)(context, builder, memory).data, [start])
    return builder.bitcast(pointer, _VECTOR.as_pointer())


@_extending.intrinsic
def load(_typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 (counted by numba)
    """Return the numbers at one index of a contiguous float32 array of any shape, seen as ``(-1, LANES)``."""

    def codegen(context: Any, builder: _Builder, signature: Any, values: Any) -> ir.Value:
        return builder.load(_address(context, builder, signature.args[0], *values), align=4)

    return _templates.signature(lanes, array, _types.intp), codegen


@_extending.intrinsic
def store(_typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001 (counted by numba)
    """Write to one index of a contiguous float32 array of any shape, seen as ``(-1, LANES)``."""

    def codegen(context: Any, builder: _Builder, signature: Any, values: Any) -> ir.Value:
        address = _address(context, builder, signature.args[0], *values[:2])
        builder.store(_operand(builder, values[2]), address, align=4)
        return context.get_dummy_value()

    kind = lanes if value is lanes else _types.float32
    return _templates.signature(_types.void, array, _types.intp, kind), codegen


def _operation(function: Any = None, result: Any = lanes) -> Callable[[_Emit], Any]:
    """Let Numba compile a function of values or numbers, by default the decorated one, to what that one emits."""

    def decorate(emit: Any) -> Any:
        def lower(_context: Any, builder: _Builder, _signature: Any, values: Any) -> ir.Value:
            return emit(builder, *(_operand(builder, value) for value in values))

        kinds = product((lanes, _types.float32), repeat=emit.__code__.co_argcount - 1)
        cases = [case for case in kinds if lanes in case or not function]
        members = {"key": function or emit, "cases": [_templates.signature(result, *case) for case in cases]}
        template = type("Template", (_templates.ConcreteTemplate,), members)
        _templates.infer_global(function or emit, _types.Function(template))
        for case in cases:
            _extending.lower_builtin(function or emit, *case)(lower)
        return emit

    return decorate


_operation(operator.add)(lambda builder, a, b: builder.fadd(a, b, flags=_FLAGS))
_operation(operator.sub)(lambda builder, a, b: builder.fsub(a, b, flags=_FLAGS))
_operation(operator.mul)(lambda builder, a, b: builder.fmul(a, b, flags=_FLAGS))
_operation(operator.truediv)(lambda builder, a, b: builder.fdiv(a, b, flags=_FLAGS))


@_operation()
def splat(_builder: _Builder, a: ir.Value) -> ir.Value:
    """Return a number in every lane."""
    return a


@_operation()
def where_greater(builder: _Builder, a: ir.Value, b: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
    """Return `yes` in lanes where a > b, else `no`."""
    return builder.select(builder.fcmp_ordered(">", a, b), yes, no)


@_operation()
def exp_minus_abs(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return exp(-|a|) to single precision; what would be denormal is the smallest normal number.

    It is 2**t with t = -|a| / log(2): the integer part of t goes into the exponent's bits, the rest is a polynomial.
    """
    t = builder.fmul(_call(builder, "fabs", _VECTOR, a), _constant(-_LOG2_E), flags=_FLAGS)
    t = builder.select(builder.fcmp_ordered(">", t, _constant(-126.0)), t, _constant(-126.0))
    whole = _call(builder, "floor", _VECTOR, t)
    f = builder.fsub(t, whole, flags=_FLAGS)
    p: ir.Value = _constant(_EXP2[-1])
    for coefficient in _EXP2[-2::-1]:
        p = builder.fadd(builder.fmul(p, f, flags=_FLAGS), _constant(coefficient), flags=_FLAGS)
    exponent = builder.shl(builder.fptosi(whole, _INTEGERS), _constant(23, _INTEGERS))
    return builder.bitcast(builder.add(builder.bitcast(p, _INTEGERS), exponent), _VECTOR)


@_operation(result=_types.boolean)
def any_nonzero(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return True if any lane differs from zero (NaN does)."""
    bits = builder.bitcast(builder.fcmp_unordered("!=", a, _constant(0.0)), ir.IntType(LANES))
    return builder.icmp_unsigned("!=", bits, bits.type(0))


@_operation(result=_types.float32)
def total(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return the sum over the lanes."""
    return _call(builder, "vector.reduce.fadd", _FLOAT, _FLOAT(0.0), a)
