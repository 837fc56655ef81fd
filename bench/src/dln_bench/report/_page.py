"""A report as Markdown and as one HTML page that needs nothing else: sections of text, tables and figures."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, TypeAlias

from dln_bench.report._cells import MARK, Cell, Table
from dln_bench.report._figures import Figure


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences one below the other."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """What another program said, word for word."""

    text: str


Block: TypeAlias = str | Bullets | Quote | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The name by which a link finds it.

        >>> Section("R² and its spread", ()).anchor
        'r-and-its-spread'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.title.casefold()).strip("-")


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    lead: tuple[Block, ...]
    sections: tuple[Section, ...]

    def figures(self) -> Iterator[Figure]:
        """Give every figure."""
        yield from (block for block in self._blocks() if isinstance(block, Figure))

    def tables(self) -> Iterator[Table]:
        """Give every table."""
        yield from (block for block in self._blocks() if isinstance(block, Table))

    def _blocks(self) -> Iterator[Block]:
        yield from self.lead
        for section in self.sections:
            yield from section.blocks


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(page: Page) -> str:
    """Return the page as Markdown; its figures are files in the folder figures/ beside it."""
    lines = [f"# {_md(page.title)}", ""]
    for block in page.lead:
        lines += [*_md_block(block), ""]
    for section in page.sections:
        lines += [f"## {_md(section.title)}", ""]
        for block in section.blocks:
            lines += [*_md_block(block), ""]
    return "\n".join(lines).rstrip() + "\n"


def _md_block(block: Block) -> list[str]:
    match block:
        case str():
            return [_md(block)]
        case Bullets(items):
            return [f"- {_md(item)}" for item in items]
        case Quote(text):
            return [f"> {_md(text)}"]
        case Figure(name, caption, _):
            return [f"![{_md(caption)}](figures/{name}.svg)", "", f"*{_md(caption)}*"]
        case Table():
            return _md_table(block)


def _md_table(table: Table) -> list[str]:
    lines = [f"**{_md(table.title)}**", ""]
    lines.append(f"| {' | '.join(_md(name) for name in table.head)} |")
    lines.append(f"| --- |{(' --- |' if table.words else ' ---: |') * (len(table.head) - 1)}")
    lines += [f"| {' | '.join(_md_cell(cell) for cell in row)} |" for row in (*table.rows, *table.summary)]
    for note in table.notes:
        lines += ["", _md(note)]
    return lines


def _md_cell(cell: Cell) -> str:
    text = f"**{_md(cell.text)}**" if cell.best else _md(cell.text)
    if cell.marked:
        text += f" {MARK}"
    return "<br>".join([text, *(_md(line) for line in cell.below)])


def _md(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> print(_md("a|b *c* <d>"))
    a\|b \*c\* &lt;d&gt;
    """
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


# --- HTML -------------------------------------------------------------------------------------------------------------

_CSS: Final = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #222; font: 16px/1.55 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 24px 24px 80px; }
h1 { font-size: 30px; line-height: 1.2; margin: 16px 0 12px; }
h2 { font-size: 22px; margin: 48px 0 12px; padding-top: 12px; border-top: 1px solid #e3e6e8; }
p, ul, blockquote { max-width: 860px; margin: 10px 0; }
ul { padding-left: 22px; }
nav { margin: 18px 0; font-size: 15px; }
nav a { display: inline-block; margin: 0 14px 4px 0; }
a { color: #0b5a94; }
blockquote { border-left: 3px solid #c5cdd3; padding: 2px 0 2px 14px; color: #444; font-size: 15px; }
figure { margin: 22px 0; }
figure .picture { overflow-x: auto; }
figure img { display: block; max-width: 100%; height: auto; }
figcaption, .notes { color: #555; font-size: 14px; max-width: 860px; margin-top: 8px; }
.notes p { margin: 4px 0; }
h3 { font-size: 16px; margin: 24px 0 8px; }
.scroll { width: fit-content; max-width: 100%; overflow-x: auto; border: 1px solid #e3e6e8; border-radius: 6px; }
table { border-collapse: separate; border-spacing: 0; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 10px; text-align: right; vertical-align: top; white-space: nowrap; }
th, td { border-bottom: 1px solid #eef0f2; }
th { font-weight: 600; }
thead th { background: #f4f6f7; border-bottom: 1px solid #d5dade; vertical-align: bottom; }
th:first-child { position: sticky; left: 0; text-align: left; background: #fff; border-right: 1px solid #e3e6e8; }
tbody th { font-weight: 500; max-width: 230px; white-space: normal; }
thead th:first-child { background: #f4f6f7; }
tbody.summary th, tbody.summary td { background: #fafbfb; }
tbody.summary th { min-width: 150px; }
tbody.summary tr:first-child > * { border-top: 2px solid #c5cdd3; }
tbody tr:last-child > * { border-bottom: 0; }
table.words td { text-align: left; white-space: normal; min-width: 90px; max-width: 460px; }
table.words thead th { text-align: left; }
small { display: block; color: #667; font-size: 12px; line-height: 1.35; }
td.best { font-weight: 700; }
td.best small { font-weight: 400; }
td.marked { background: #fff3d6; }
@media print { .scroll { overflow: visible; } main { max-width: none; } }
"""


#: Graphviz draws at twice the size, and says so in points; half of that is easy to read.
_WIDE: Final = re.compile(r'<svg width="([\d.]+)pt"')
_SHRUNK: Final = 0.55


def html(page: Page) -> str:
    """Return the page as one HTML file: style and figures are in it, nothing is loaded from elsewhere."""
    body = [f"<h1>{escape(page.title)}</h1>", *(_html_block(block) for block in page.lead)]
    links = (f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in page.sections)
    body.append(f"<nav>{' '.join(links)}</nav>")
    for section in page.sections:
        body.append(f'<h2 id="{section.anchor}">{escape(section.title)}</h2>')
        body.extend(_html_block(block) for block in section.blocks)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(page.title)}</title>\n'
        f"<style>{_CSS}</style>\n</head>\n<body>\n<main>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


def _html_block(block: Block) -> str:
    match block:
        case str():
            return f"<p>{escape(block)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
        case Quote(text):
            return f"<blockquote>{escape(text)}</blockquote>"
        case Figure(_, caption, svg):
            data = base64.b64encode(svg.encode()).decode()
            image = f'<img alt="{escape(caption)}"{_size(svg)} src="data:image/svg+xml;base64,{data}">'
            return f'<figure><div class="picture">{image}</div><figcaption>{escape(caption)}</figcaption></figure>'
        case Table():
            return _html_table(block)


def _size(svg: str) -> str:
    """Return the width that a wide drawing needs to be read, beyond which the page scrolls; most figures need none."""
    found = _WIDE.search(svg[:2000])
    return f' style="max-width: none; width: {round(float(found[1]) * _SHRUNK)}px"' if found else ""


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    kind = ' class="words"' if table.words else ""
    parts = [
        f'<h3>{escape(table.title)}</h3><div class="scroll"><table{kind}>',
        f"<thead><tr>{head}</tr></thead>",
        f"<tbody>{_html_rows(table.rows)}</tbody>",
    ]
    if table.summary:
        parts.append(f'<tbody class="summary">{_html_rows(table.summary)}</tbody>')
    parts.append("</table></div>")
    if table.notes:
        parts.append(f'<div class="notes">{"".join(f"<p>{escape(note)}</p>" for note in table.notes)}</div>')
    return "".join(parts)


def _html_rows(rows: Sequence[tuple[Cell, ...]]) -> str:
    return "".join(
        f'<tr><th scope="row">{_html_inner(row[0])}</th>{"".join(_html_cell(cell) for cell in row[1:])}</tr>'
        for row in rows
    )


def _html_cell(cell: Cell) -> str:
    classes = " ".join(name for name, on in (("best", cell.best), ("marked", cell.marked)) if on)
    return f"<td{f' class={classes!r}' if classes else ''}>{_html_inner(cell)}</td>"


def _html_inner(cell: Cell) -> str:
    mark = f" {MARK}" if cell.marked else ""
    return f"{escape(cell.text)}{mark}{''.join(f'<small>{escape(line)}</small>' for line in cell.below)}"
