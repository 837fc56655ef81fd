"""The interpreter: runs a prepared circuit on a block of rows at a time.

Its inner loops are written for LLVM. Numba has no vectors, and LLVM does not find "compare sixteen numbers, then keep
sixteen bits" in a plain loop: here it is said in LLVM's own language, for vectors of a length that LLVM fits to the
machine, whatever it is.

Memory is named by its address, a whole number: Numba would otherwise compile the interpreter for every combination of
types and layouts of columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dln._compile import compiled
from dln.circuit.bits._prepare import ABOVE, IN_RUN, IS_MISSING, XOR_WORDS, Floats, Int64

#: Rows of a word.
WORD: Final = 64

#: Rows that are taken at a time: few enough for columns and nodes to stay in the core's own cache, enough to make the
#: interpreter's decisions cheap.
BLOCK: Final = 1024
WORDS: Final = BLOCK // WORD

#: Rows that one vector instruction compares, if the machine has it.
_LANES: Final = 16

_BIT: Final = ir.IntType(1)
_INT32: Final = ir.IntType(32)
_INT64: Final = ir.IntType(64)
_FLOAT: Final = ir.FloatType()
_DOUBLE: Final = ir.DoubleType()
_SIZES: Final = {_INT32: 4, _INT64: 8, _FLOAT: 4, _DOUBLE: 8}

#: How a column is stored.
FLOAT32, FLOAT64, CODES = 0, 1, 2

#: Bytes of a block's words.
_ROW_OF_WORDS: Final = 8 * WORDS

_cgutils: Any = cgutils
_intrinsic: Any = intrinsic
_jit: Any = compiled(nogil=True)

# --- for LLVM ---------------------------------------------------------------------------------------------------------


def _load(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, index: ir.Value | int = 0) -> ir.Value:
    """Return what stands at an address, or as many items of its kind further on as `index` says."""
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    size = _SIZES[element] * (kind.count if isinstance(kind, ir.VectorType) else 1)
    index = _INT64(index) if isinstance(index, int) else index
    address = builder.add(address, builder.mul(index, _INT64(size)))
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=_SIZES[element])


def _splat(builder: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector of equal elements."""
    vector = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    vector = builder.insert_element(vector, value, _INT32(0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INT32, lanes), [0] * lanes))


def _packer(element: ir.Type, argument: Any, compare: Callable[..., ir.Value]) -> Any:
    """Return a function ``(source, target, n_words, x, y)`` that compares numbers with x and y, 64 to a word."""

    @_intrinsic
    def pack(_typing: Any, _source: Any, _target: Any, _n_words: Any, _x: Any, _y: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> ir.Value:
            source, target, n_words, *limits = arguments
            bits = ir.IntType(_LANES)
            splats = [_splat(builder, limit, _LANES) for limit in limits]
            with _cgutils.for_range(builder, builder.mul(n_words, _INT64(WORD // _LANES))) as loop:
                numbers = _load(builder, source, ir.VectorType(element, _LANES), loop.index)
                hits = builder.bitcast(compare(builder, numbers, *splats), bits)
                address = builder.add(target, builder.mul(loop.index, _INT64(_LANES // 8)))
                builder.store(hits, builder.inttoptr(address, bits.as_pointer()), align=_LANES // 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, argument, argument), codegen

    return pack


def _above(builder: ir.IRBuilder, numbers: ir.Value, limit: ir.Value, _: ir.Value) -> ir.Value:
    return builder.fcmp_ordered(">", numbers, limit)


def _unordered(builder: ir.IRBuilder, numbers: ir.Value, *_: ir.Value) -> ir.Value:
    return builder.fcmp_unordered("uno", numbers, numbers)


def _in_run(builder: ir.IRBuilder, codes: ir.Value, first: ir.Value, length: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("<", builder.sub(codes, first), length)


pack_above_32 = _packer(_FLOAT, types.float32, _above)
pack_above_64 = _packer(_DOUBLE, types.float64, _above)
pack_missing_32 = _packer(_FLOAT, types.float32, _unordered)
pack_missing_64 = _packer(_DOUBLE, types.float64, _unordered)
pack_run = _packer(_INT32, types.int32, _in_run)


def _finder(element: ir.Type, infinity: int) -> Any:
    """Return a function ``(source, n_words) -> bool`` that tells whether an infinity is among the numbers."""

    @_intrinsic
    def find(_typing: Any, _source: Any, _n_words: Any) -> Any:
        def codegen(_context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> ir.Value:
            source, n_words = arguments
            magnitude = _splat(builder, element(infinity | infinity - 1 | infinity >> 1), _LANES)
            any_infinite = _cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(_BIT, _LANES), [0] * _LANES))
            with _cgutils.for_range(builder, builder.mul(n_words, _INT64(WORD // _LANES))) as loop:
                numbers = _load(builder, source, ir.VectorType(element, _LANES), loop.index)
                size = builder.and_(numbers, magnitude)
                infinite = builder.icmp_unsigned("==", size, _splat(builder, element(infinity), _LANES))
                builder.store(builder.or_(builder.load(any_infinite), infinite), any_infinite)
            bits = builder.bitcast(builder.load(any_infinite), ir.IntType(_LANES))
            return builder.icmp_unsigned("!=", bits, ir.IntType(_LANES)(0))

        return types.boolean(types.int64, types.int64), codegen

    return find


find_infinity_32 = _finder(_INT32, 0x7F800000)
find_infinity_64 = _finder(_INT64, 0x7FF0000000000000)


def _gatherer(element: ir.Type) -> Any:
    """Return a function ``(source, stride, target, n)`` that copies numbers `stride` bytes apart to one place."""

    @_intrinsic
    def gather(_typing: Any, _source: Any, _stride: Any, _target: Any, _n: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> ir.Value:
            source, stride, target, n = arguments
            pointer = builder.inttoptr(target, element.as_pointer())
            with _cgutils.for_range(builder, n) as loop:
                number = _load(builder, builder.add(source, builder.mul(loop.index, stride)), element)
                builder.store(number, builder.gep(pointer, [loop.index], source_etype=element))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), codegen

    return gather


gather_32 = _gatherer(_INT32)
gather_64 = _gatherer(_INT64)


@_intrinsic
def and_words(_typing: Any, _a: Any, _b: Any, _out: Any, _not_a: Any, _not_b: Any) -> Any:
    """Write ``(a ^ not_a) & (b ^ not_b)`` for a block's words."""

    def codegen(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> ir.Value:
        a, b, out, not_a, not_b = arguments
        words = ir.VectorType(_INT64, WORDS)
        a = builder.xor(_load(builder, a, words), _splat(builder, not_a, WORDS))
        b = builder.xor(_load(builder, b, words), _splat(builder, not_b, WORDS))
        builder.store(builder.and_(a, b), builder.inttoptr(out, words.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


@_intrinsic
def xor_words(_typing: Any, _a: Any, _b: Any, _out: Any) -> Any:
    """Write ``a ^ b`` for a block's words."""

    def codegen(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> ir.Value:
        a, b, out = arguments
        words = ir.VectorType(_INT64, WORDS)
        result = builder.xor(_load(builder, a, words), _load(builder, b, words))
        builder.store(result, builder.inttoptr(out, words.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), codegen


def _adder(element: ir.Type) -> Any:
    """Return a function ``(nodes, rules, steps, n_rules, scale, out)`` that predicts the rows of one word.

    `rules` says which nodes enter the sum.
    """
    is_float = element is _DOUBLE

    @_intrinsic
    def add_up(_typing: Any, _nodes: Any, _rules: Any, _steps: Any, _n_rules: Any, _scale: Any, _out: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> ir.Value:
            nodes, rules, steps, n_rules, scale, out = arguments

            def splat(number: ir.Value) -> ir.Value:
                return _splat(builder, number if is_float else builder.fptosi(number, element), WORD)

            total = _cgutils.alloca_once_value(builder, splat(_load(builder, scale, _DOUBLE)))
            with _cgutils.for_range(builder, n_rules) as loop:
                step = splat(_load(builder, steps, _DOUBLE, loop.index))
                offset = builder.mul(_load(builder, rules, _INT64, loop.index), _INT64(_ROW_OF_WORDS))
                word = _load(builder, builder.add(nodes, offset), _INT64)
                before = builder.load(total)
                after = builder.fadd(before, step) if is_float else builder.add(before, step)
                fires = builder.bitcast(word, ir.VectorType(_BIT, WORD))
                builder.store(builder.select(fires, after, before), total)
            result = builder.load(total)
            if not is_float:
                result = builder.sitofp(result, ir.VectorType(_DOUBLE, WORD))
            # One of the two is 1: dividing and multiplying by 1 changes nothing.
            result = builder.fdiv(result, _splat(builder, _load(builder, scale, _DOUBLE, 1), WORD))
            result = builder.fmul(result, _splat(builder, _load(builder, scale, _DOUBLE, 2), WORD))
            builder.store(result, builder.inttoptr(out, result.type.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), codegen

    return add_up


#: Sums of steps in 32 bits, and in float64, exact for whole numbers below 2**53.
add_up_narrow = _adder(_INT32)
add_up_wide = _adder(_DOUBLE)


# --- for Numba --------------------------------------------------------------------------------------------------------


@_jit
def run(
    addresses: Int64,
    strides: Int64,
    kinds: Int64,
    tests: Int64,
    limits: Floats,
    gates: Int64,
    rules: Int64,
    steps: Floats,
    scale: Floats,
    n_nodes: int,
    narrow: bool,  # noqa: FBT001
    start: int,
    stop: int,
    out: Floats,
) -> bool:
    """Write the predictions of the rows from `start` to `stop`; tell whether a column that was read holds infinity."""
    # One spare row: a second run of codes is packed there and then joined with the first.
    nodes = np.empty((n_nodes + 1, WORDS), dtype=np.int64)
    column = np.empty(BLOCK, dtype=np.float64)
    tail = np.empty(WORD, dtype=np.float64)
    # Numba frees an array after the last line that names it, whoever still has its address: those made here are all
    # named in the loop.
    base = np.int64(nodes.ctypes.data)
    targets, tail_target = np.int64(out.ctypes.data), np.int64(tail.ctypes.data)
    rules_source, steps_source = np.int64(rules.ctypes.data), np.int64(steps.ctypes.data)
    scale_source = np.int64(scale.ctypes.data)
    infinite = False
    for first in range(start, stop, BLOCK):
        n = min(BLOCK, stop - first)
        infinite |= _run_tests(addresses, strides, kinds, tests, limits, first, n, column, nodes)
        for g in range(gates.shape[0]):
            operation = gates[g, 0]
            a, b = base + gates[g, 1] * _ROW_OF_WORDS, base + gates[g, 2] * _ROW_OF_WORDS
            written = base + gates[g, 3] * _ROW_OF_WORDS
            if operation == XOR_WORDS:
                xor_words(a, b, written)
            else:
                and_words(a, b, written, -(operation & 1), -(operation >> 1))
        for w in range((n + WORD - 1) // WORD):
            row = first + w * WORD
            target = targets + 8 * row if stop - row >= WORD else tail_target
            if narrow:
                add_up_narrow(base + 8 * w, rules_source, steps_source, rules.size, scale_source, target)
            else:
                add_up_wide(base + 8 * w, rules_source, steps_source, rules.size, scale_source, target)
            for r in range(stop - row if stop - row < WORD else 0):
                out[row + r] = tail[r]
    return infinite


@_jit
def _run_tests(
    addresses: Int64,
    strides: Int64,
    kinds: Int64,
    tests: Int64,
    limits: Floats,
    first: int,
    n: int,
    column: Floats,
    nodes: Int64,
) -> bool:
    """Pack the tests' results on the `n` rows from `first`; tell whether a column that was read holds infinity."""
    base, buffer = np.int64(nodes.ctypes.data), np.int64(column.ctypes.data)
    spare = base + (nodes.shape[0] - 1) * _ROW_OF_WORDS
    n_words = (n + WORD - 1) // WORD
    read, kind, source, previous = -1, 0, buffer, -1
    infinite = False
    for t in range(tests.shape[0]):
        slot, test, node = tests[t, 0], tests[t, 1], tests[t, 2]
        if slot != read:
            read, kind = slot, kinds[slot]
            source = _column(addresses[slot] + first * strides[slot], strides[slot], kind, n, buffer)
            if kind != CODES:
                infinite |= find_infinity_64(source, n_words) if kind == FLOAT64 else find_infinity_32(source, n_words)
        target = base + node * _ROW_OF_WORDS
        if test == ABOVE:
            if kind == FLOAT32:
                pack_above_32(source, target, n_words, np.float32(limits[t, 1]), np.float32(0.0))
            else:
                pack_above_64(source, target, n_words, limits[t, 0], 0.0)
        elif test == IS_MISSING and kind == FLOAT32:
            pack_missing_32(source, target, n_words, np.float32(0.0), np.float32(0.0))
        elif test == IS_MISSING and kind == FLOAT64:
            pack_missing_64(source, target, n_words, 0.0, 0.0)
        else:
            again = test == IN_RUN and node == previous
            where = spare if again else target
            pack_run(source, where, n_words, np.int32(tests[t, 3]), np.int32(tests[t, 4]))
            if again:
                for w in range(n_words):
                    nodes[node, w] |= nodes[-1, w]
        previous = node
    return infinite


@_jit
def _column(source: int, stride: int, kind: int, n: int, buffer: int) -> int:
    """Return the address of a block's values, one after the other and readable to the end of their last word."""
    size = 8 if kind == FLOAT64 else 4
    if stride == size and n % WORD == 0:
        return source
    if kind == FLOAT64:
        gather_64(source, stride, buffer, n)
        gather_64(buffer, 0, buffer + size * n, -n % WORD)  # spare places repeat the first value
    else:
        gather_32(source, stride, buffer, n)
        gather_32(buffer, 0, buffer + size * n, -n % WORD)
    return buffer
