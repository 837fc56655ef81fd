"""Thirty-two float32 numbers as one value of Numba's: the batch's slots, or neighbouring neurons.

LLVM vectorises plain loops only where it can prove that arrays do not overlap, and keeps no row of an array in
registers from one loop to the next. A value of type `lanes` is a vector of LLVM's: it stays in registers, whatever
their width on the machine, and arithmetic on it is arithmetic on all lanes. Memory is named by its address.

    a = zeros()
    for k in range(n):
        a = fma(splat(p[k]), load(address + k * BYTES), a)

Numba's cache notices changes of the file that defines the kernels, not of this one nor of `_layout.py`: delete
``__pycache__`` after changing them.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.typing import templates

#: Lanes of a value, and its size in memory: two cache lines.
LANES: Final = 32
BYTES: Final = 4 * LANES

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_FLAGS: Final = ("contract", "reassoc", "nsz", "arcp")
_BIT: Final = ir.IntType(1)
_INT32: Final = ir.IntType(32)
_INT64: Final = ir.IntType(64)
_FLOAT: Final = ir.FloatType()
_VECTOR: Final = ir.VectorType(_FLOAT, LANES)
_WHOLES: Final = ir.VectorType(_INT32, LANES)

_LOG2_E: Final = 1.4426950408889634
# Minimax polynomial of 2**f on [0, 1] with relative error below 1e-7: LLVM does not vectorise exp by itself.
_EXP2: Final = (1.0, 0.6931513118294802, 0.24016444987287555, 0.05579991409460651, 0.00901702896815921,
                0.0018671306997685966)  # fmt: skip

# Less half of a number's bits: those of a number within 4 % of one over its root.
_ROOT_GUESS: Final = 0x5F375A86
# Less a number's bits: those of a number within 6 % of one over it.
_ONE_OVER_GUESS: Final = 0x7EF311C3

_Builder: TypeAlias = ir.IRBuilder
# Numba's own types are partial: what follows is typed by hand.
_cgutils: Any = cgutils
_extending: Any = extending
_templates: Any = templates
_float32: Any = types.float32
_tuple: Any = types.UniTuple
_address: Any = types.int64


class Lanes(types.Type):
    """The type of a value of thirty-two float32 lanes."""

    def __init__(self) -> None:
        super().__init__(name="lanes")


lanes: Final = Lanes()


@_extending.register_model(Lanes)
class _LanesModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _constant(value: float, kind: ir.VectorType = _VECTOR) -> ir.Constant:
    return ir.Constant(kind, [value] * LANES)


def _splat(builder: _Builder, value: ir.Value) -> ir.Value:
    kind = ir.VectorType(value.type, LANES)
    vector = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _INT32(0))
    return builder.shuffle_vector(vector, vector, ir.Constant(_WHOLES, [0] * LANES))


def _call(builder: _Builder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    """Call one of LLVM's own functions."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(_cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _define(result: Any, *arguments: Any) -> Callable[[Callable[..., ir.Value]], Any]:
    """Make a function of the builder and LLVM values a function of Numba's with the given types."""

    def decorate(emit: Callable[..., ir.Value]) -> Any:
        def codegen(context: Any, builder: _Builder, _: Any, values: Any) -> ir.Value:
            emitted = emit(builder, *values)
            if isinstance(emitted, list):
                return context.make_tuple(builder, result, emitted)
            return context.get_dummy_value() if result is types.void else emitted

        def definition(_typing: Any, *_: Any) -> Any:
            return _templates.signature(result, *arguments), codegen

        # Numba counts the arguments of an intrinsic by its signature.
        names = ["typing", *(f"x{i}" for i in range(len(arguments)))]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        definition.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
        definition.__name__, definition.__doc__ = emit.__name__, emit.__doc__
        return _extending.intrinsic(definition)

    return decorate


# --- memory -----------------------------------------------------------------------------------------------------------


@_define(_address, _address)
def pinned(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return the address, computed once: reading at a sum of two registers costs one step more than at one register."""
    return builder.asm(ir.FunctionType(_INT64, [_INT64]), "", "=r,0", [address], side_effect=False)


@_define(lanes, _address)
def load(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return the thirty-two numbers at an address."""
    return builder.load(builder.inttoptr(address, _VECTOR.as_pointer()), align=4)


@_define(types.void, _address, lanes)
def store(builder: _Builder, address: ir.Value, value: ir.Value) -> None:
    """Write thirty-two numbers to an address."""
    builder.store(value, builder.inttoptr(address, _VECTOR.as_pointer()), align=4)


@_define(types.int64, _address)
def whole_at(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return the int32 number at an address."""
    return builder.sext(builder.load(builder.inttoptr(address, _INT32.as_pointer()), align=4), _INT64)


@_define(_float32, _address)
def number_at(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return the float32 number at an address."""
    return builder.load(builder.inttoptr(address, _FLOAT.as_pointer()), align=4)


@_define(types.int64, _address)
def long_at(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return the int64 number at an address."""
    return builder.load(builder.inttoptr(address, _INT64.as_pointer()), align=8)


@_define(types.float64, _address)
def double_at(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return the float64 number at an address."""
    return builder.load(builder.inttoptr(address, ir.DoubleType().as_pointer()), align=8)


@_define(types.void, _address, _float32)
def write(builder: _Builder, address: ir.Value, value: ir.Value) -> None:
    """Write a float32 number to an address."""
    builder.store(value, builder.inttoptr(address, _FLOAT.as_pointer()), align=4)


@_define(types.void, _address, types.float64)
def write_double(builder: _Builder, address: ir.Value, value: ir.Value) -> None:
    """Write a float64 number to an address."""
    builder.store(value, builder.inttoptr(address, ir.DoubleType().as_pointer()), align=8)


@_define(types.void, _address, types.boolean)
def write_bit(builder: _Builder, address: ir.Value, value: ir.Value) -> None:
    """Write a truth value to the byte at an address."""
    byte = ir.IntType(8)
    builder.store(builder.zext(value, byte), builder.inttoptr(address, byte.as_pointer()), align=1)


@_define(types.void, _address, _float32)
def add_at(builder: _Builder, address: ir.Value, value: ir.Value) -> None:
    """Add to the float32 number at an address."""
    pointer = builder.inttoptr(address, _FLOAT.as_pointer())
    builder.store(builder.fadd(builder.load(pointer, align=4), value), pointer, align=4)


@_define(types.void, _address, types.float64, lanes)
def add_wide(builder: _Builder, address: ir.Value, factor: ir.Value, value: ir.Value) -> None:
    """Add factor times value to the thirty-two float64 numbers at an address."""
    kind = ir.VectorType(ir.DoubleType(), LANES)
    pointer = builder.inttoptr(address, kind.as_pointer())
    product = builder.fmul(_splat(builder, factor), builder.fpext(value, kind), flags=_FLAGS)
    builder.store(builder.fadd(builder.load(pointer, align=8), product, flags=_FLAGS), pointer, align=8)


def _address_reader(element: Any) -> Any:
    """Return a function that tells where the memory of an array of one type starts."""

    @_extending.intrinsic
    def address(_typing: Any, array: Any) -> Any:
        """Return where the memory of an array starts, whose elements stand one after the other."""
        if not (isinstance(array, types.Array) and array.layout == "C" and array.dtype == element):
            return None

        def codegen(context: Any, builder: _Builder, signature: Any, values: Any) -> ir.Value:
            made = context.make_array(signature.args[0])(context, builder, values[0])
            return builder.ptrtoint(made.data, _INT64)

        return _templates.signature(_address, array), codegen

    return address


address_of: Final = _address_reader(_float32)
address_of_doubles: Final = _address_reader(types.float64)
address_of_longs: Final = _address_reader(types.int64)
address_of_bits: Final = _address_reader(types.boolean)


@_define(_address)
def room(builder: _Builder) -> ir.Value:
    """Return the address of memory for four values, which a function has until it returns."""
    return builder.ptrtoint(_cgutils.alloca_once(builder, _VECTOR, size=4), _INT64)


def record_at(kind: type[tuple[int, ...]], *, unrolled: bool = False) -> Any:
    """Return a function that reads a named tuple of whole numbers at an address.

    Functions hand each other the address: forty arguments would take longer to compile than what is done with them.
    For the same reason whoever reads a record is not compiled into others, and its loops are not unrolled: a pass of
    a loop over lanes is long enough as it is, for all but the innermost of all.
    """
    fields = len(kind._fields)  # type: ignore[attr-defined]
    named = types.NamedUniTuple(types.int64, fields, kind)  # type: ignore[no-untyped-call]
    memory = ir.ArrayType(_INT64, fields)

    @_define(named, _address)
    def read(builder: _Builder, address: ir.Value) -> ir.Value:
        """Return the record at an address."""
        builder.function.attributes.add("noinline")
        if not unrolled:
            builder.function.attributes.add("optsize")
        return builder.load(builder.inttoptr(address, memory.as_pointer()), align=8)

    return read


# --- arithmetic -------------------------------------------------------------------------------------------------------


@_define(lanes, _float32)
def splat(builder: _Builder, value: ir.Value) -> ir.Value:
    """Return a value whose lanes are all the same number."""
    return _splat(builder, value)


@_define(lanes, _address)
def spread(builder: _Builder, address: ir.Value) -> ir.Value:
    """Return a value whose lanes are all the float32 number at an address."""
    return _splat(builder, builder.load(builder.inttoptr(address, _FLOAT.as_pointer()), align=4))


@_define(lanes, lanes, lanes, lanes)
def fma(builder: _Builder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """Return a·b + c."""
    return builder.fadd(builder.fmul(a, b, flags=_FLAGS), c, flags=_FLAGS)


@_define(lanes, lanes, lanes, lanes, lanes)
def where_greater(builder: _Builder, a: ir.Value, b: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
    """Return `yes` in lanes where a > b, else `no`. Their bits are copied as they are: they may be whole numbers."""
    return builder.select(builder.fcmp_ordered(">", a, b), yes, no)


@_define(lanes, lanes, lanes)
def largest(builder: _Builder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return the larger of two numbers, lane by lane."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@_define(lanes, lanes)
def absolute(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return the numbers without their signs."""
    return _call(builder, f"llvm.fabs.v{LANES}f32", _VECTOR, a)


@_define(types.boolean, lanes)
def any_nonzero(builder: _Builder, a: ir.Value) -> ir.Value:
    """Tell whether any lane differs from zero (NaN does)."""
    bits = builder.bitcast(builder.fcmp_unordered("!=", a, _constant(0.0)), ir.IntType(LANES))
    return builder.icmp_unsigned("!=", bits, ir.IntType(LANES)(0))


@_define(lanes, lanes)
def exp_nonpositive(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return the exponentials of numbers that are not above zero, to single precision; tiny ones are not denormal."""
    t = builder.fmul(a, _constant(_LOG2_E), flags=_FLAGS)
    floor = _constant(-126.0)
    t = builder.select(builder.fcmp_ordered(">", t, floor), t, floor)
    whole = _call(builder, f"llvm.floor.v{LANES}f32", _VECTOR, t)
    f = builder.fsub(t, whole, flags=_FLAGS)
    p: ir.Value = _constant(_EXP2[-1])
    for coefficient in _EXP2[-2::-1]:
        p = builder.fadd(builder.fmul(p, f, flags=_FLAGS), _constant(coefficient), flags=_FLAGS)
    exponent = builder.shl(builder.fptosi(whole, _WHOLES), _constant(23, _WHOLES))
    return builder.bitcast(builder.add(builder.bitcast(p, _WHOLES), exponent), _VECTOR)


@_define(lanes, lanes)
def root(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return the roots of numbers above zero, within 5e-6 of their size: exact ones take longer.

    A first guess of 1/√a from the exponent, halved and turned round, and two steps of Newton's method.
    """
    bits = builder.lshr(builder.bitcast(a, _WHOLES), _constant(1, _WHOLES))
    y = builder.bitcast(builder.sub(_constant(_ROOT_GUESS, _WHOLES), bits), _VECTOR)
    half = builder.fmul(a, _constant(0.5), flags=_FLAGS)
    for _ in range(2):
        square = builder.fmul(builder.fmul(y, y, flags=_FLAGS), half, flags=_FLAGS)
        y = builder.fmul(y, builder.fsub(_constant(1.5), square, flags=_FLAGS), flags=_FLAGS)
    return builder.fmul(a, y, flags=_FLAGS)


@_define(lanes, lanes)
def one_over(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return one over numbers above zero, within 7e-6 of its size: a division takes the time of ten products.

    A first guess from the exponent, turned round, and two steps of Newton's method.
    """
    y = builder.bitcast(builder.sub(_constant(_ONE_OVER_GUESS, _WHOLES), builder.bitcast(a, _WHOLES)), _VECTOR)
    for _ in range(2):
        error = builder.fsub(_constant(2.0), builder.fmul(a, y, flags=_FLAGS), flags=_FLAGS)
        y = builder.fmul(y, error, flags=_FLAGS)
    return y


# --- sums over lanes --------------------------------------------------------------------------------------------------


def _half(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return a vector of half the length: its first half plus its second."""
    n = a.type.count // 2
    parts = [
        builder.shuffle_vector(a, a, ir.Constant(ir.VectorType(_INT32, n), list(range(start, start + n))))
        for start in (0, n)
    ]
    return builder.fadd(*parts, flags=_FLAGS)


@_define(_float32, lanes)
def total(builder: _Builder, a: ir.Value) -> ir.Value:
    """Return the sum over the lanes."""
    while a.type.count > 1:
        a = _half(builder, a)
    return builder.extract_element(a, _INT32(0))


def _fold(builder: _Builder, x: ir.Value, y: ir.Value, order: tuple[int, int, int, int]) -> ir.Value:
    """Return sums of two lanes each: in groups of four, those of x and of y that `order` names and the two after.

    0 to 3 are x's lanes, 4 to 7 are y's. The orders in use are single instructions of x86.
    """
    n = x.type.count
    parts = [
        builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_INT32, n), mask))
        for mask in (
            [g + (i + shift) % 4 + (n if i > 3 else 0) for g in range(0, n, 4) for i in order]  # noqa: PLR2004
            for shift in (0, 2)
        )
    ]
    return builder.fadd(*parts, flags=_FLAGS)


@_define(types.void, _address, lanes, lanes, lanes, lanes)
def add_totals(builder: _Builder, address: ir.Value, *four: ir.Value) -> None:
    """Add the sums over the lanes of four values to the four numbers at an address."""
    a, b, c, d = (_half(builder, value) for value in four)
    ab, cd = _fold(builder, a, b, (0, 4, 1, 5)), _fold(builder, c, d, (0, 4, 1, 5))
    sums = _fold(builder, ab, cd, (0, 1, 4, 5))
    while sums.type.count > 4:  # noqa: PLR2004
        sums = _half(builder, sums)
    pointer = builder.inttoptr(address, sums.type.as_pointer())
    builder.store(builder.fadd(builder.load(pointer, align=4), sums, flags=_FLAGS), pointer, align=4)


@_define(_tuple(lanes, 4), _address)
def columns(builder: _Builder, address: ir.Value) -> list[ir.Value]:
    """Return the four columns of the table of thirty-two rows at an address."""
    pointer = builder.inttoptr(address, _VECTOR.as_pointer())
    a, b, c, d = (builder.load(builder.gep(pointer, [_INT64(i)]), align=4) for i in range(4))

    def every_other(x: ir.Value, y: ir.Value, first: int) -> ir.Value:
        return builder.shuffle_vector(x, y, ir.Constant(_WHOLES, list(range(first, 2 * LANES, 2))))

    even, odd = [(every_other(a, b, first), every_other(c, d, first)) for first in (0, 1)]
    return [every_other(*pair, first) for first in (0, 1) for pair in (even, odd)]


def _operator(function: Any, emit: str) -> None:
    """Give Numba an operator of two values."""

    class Template(templates.ConcreteTemplate):
        cases = (_templates.signature(lanes, lanes, lanes),)

    def lower(_context: Any, builder: _Builder, _signature: Any, arguments: Any) -> ir.Value:
        return getattr(builder, emit)(*arguments, flags=_FLAGS)

    _templates.infer_global(function)(Template)
    _extending.lower_builtin(function, lanes, lanes)(lower)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")
