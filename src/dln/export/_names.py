"""Column names made legal: the same name in C, JavaScript, Python and Verilog."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

#: Words with a meaning in C and C++, JavaScript, Python, Verilog, and in the exported texts themselves.
_WORDS: Final = """
alignas alignof asm auto bool break case catch char class const constexpr continue default delete do double else enum
explicit export extern false float for friend goto if inline int long mutable namespace new noexcept nullptr operator
private protected public register restrict return short signed sizeof static struct switch template this throw true
try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while main int8_t int16_t
int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t

arguments async await debugger eval extends finally from function get implements import in instanceof interface let
null of package set super undefined var with yield nan infinity

and as assert def del elif except global is lambda none nonlocal not or pass raise self match type

always assign automatic begin bit buf bufif0 bufif1 byte casex casez cell chandle checker clocking cmos config
constraint context cover covergroup coverpoint cross deassign defparam design disable dist edge end endcase endclass
endconfig endfunction endgenerate endmodule endpackage endprimitive endprogram endproperty endspecify endtable endtask
event expect final first_match force foreach forever fork forkjoin generate genvar highz0 highz1 iff ifnone
illegal_bins initial inout input inside instance integer intersect join join_any join_none large liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype nmos nor noshowcancelled
notif0 notif1 output parameter pmos posedge primitive priority program property pull0 pull1 pulldown pullup rand randc
randcase randsequence rcmos real realtime ref reg release repeat rnmos rpmos rtran scalared sequence shortint
shortreal showcancelled small soft solve specify specparam string strong0 strong1 supply0 supply1 table tagged task
time timeprecision timeunit tran tri tri0 tri1 triand trior trireg unique unique0 untyped use uwire vectored wait
wait_order wand weak weak0 weak1 wildcard wire wor xnor xor

row rows total fires predict predict_rows explain number code clk missing unknown columns rules target intercept value
values text known same fired prediction steps scale
"""
RESERVED: Final = frozenset(_WORDS.split())
_OURS: Final = re.compile(r"(part|rule|codes|stage)_?\d+", re.IGNORECASE)

#: Longest name in code: C99 guarantees that 63 characters are significant, and suffixes follow.
_LONGEST: Final = 40


def identifiers(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names that are legal in all target languages, and that differ in more than case.

    >>> identifiers(["Größe (m²)", "size", "SIZE", "2nd", "class", "🏠", "'; DROP TABLE x"])
    ['Gro_e_m2', 'size', 'SIZE_2', 'c2nd', 'class_', 'c5', 'DROP_TABLE_x']
    """
    seen = {name.casefold() for name in taken}
    chosen = []
    for j, name in enumerate(names):
        plain = _plain(name) or f"c{j}"
        base = f"{plain}_" if plain.casefold() in RESERVED or _OURS.fullmatch(plain) else plain
        candidate, n = base, 2
        while candidate.casefold() in seen:
            candidate, n = f"{base.rstrip('_')}_{n}", n + 1
        seen.add(candidate.casefold())
        chosen.append(candidate)
    return chosen


def _plain(name: str) -> str:
    """Return the letters, digits and underscores of a name, as far as ASCII has them."""
    decomposed = unicodedata.normalize("NFKD", name)
    kept = "".join(
        char if char.isascii() and char.isalnum() else "_" for char in decomposed if not unicodedata.combining(char)
    )
    words = "_".join(filter(None, kept.split("_")))[:_LONGEST].strip("_")
    return f"c{words}" if words[:1].isdigit() else words
