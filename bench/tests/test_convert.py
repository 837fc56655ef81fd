"""Files of the datasets' public homes become the one form that is kept."""

import io
import zipfile

import pytest

from dln_bench._convert import to_csv
from dln_bench._download import Source


@pytest.mark.parametrize(
    ("source", "contents", "expected"),
    [
        # A header of its own, a mark at the beginning, line ends of Windows, an empty line at the end.
        (Source("", "", []), ["\ufeffa,b\r\n1,2\r\n\r\n"], "a,b\n1,2\n"),
        # No header.
        (Source("", "", [], columns=["a", "b"]), ["M,2\nF,3"], "a,b\nM,2\nF,3\n"),
        # Another header than ours; blanks and tabs.
        (Source("", "", [], "whitespace", columns=["a", "b"]), ["X   Y\n1\t 0.50\n"], "a,b\n1,0.50\n"),
        # Numbers written in many ways, missing values, text in quotes.
        (
            Source("", "", [], "whitespace", rewritten=True, columns=["a", "b", "c", "d"]),
            ['97.00 2835 8 "plymouth \'cuda"\n86. ? 4 "vw"\n9 1.5 4 "a b"\n'],
            "a,b,c,d\n97.0,2835.0,8,plymouth 'cuda\n86.0,,4,vw\n9.0,1.5,4,a b\n",
        ),
        # Two files joined.
        (
            Source("", "", [], ";", columns=["a", "b"], added=[["red"], ["white"]]),
            ['"x y"\r\n7.4\r\n', '"x y"\r\n6\r\n'],
            "a,b\n7.4,red\n6,white\n",
        ),
    ],
)
def test_what_homes_hold_becomes_our_form(source, contents, expected):
    """Separators, headers, line ends and numbers of the original files become those of the files that are kept."""
    assert to_csv(source, [content.encode() for content in contents]).decode() == expected


def workbook(rows):
    """Return a small Excel workbook with one sheet."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return "<c/>" if value is None else f"<c><v>{value!r}</v></c>"

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    sheet = "".join(f"<row>{''.join(cell(value) for value in row)}</row>" for row in rows)

    def relation(kind, target):
        one = f'<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{package}/relationships">{one}</Relationships>'

    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return buffer.getvalue()


def test_a_workbook_becomes_our_form():
    """Cells keep all their digits; columns of whole numbers have no decimals; empty rows and columns go."""
    pytest.importorskip("fastexcel")
    rows = [["Cement (kg)", "Age", "Strength", ""], [540, 28, 61.887365759999994, None], [332.5, 3, 40.0, None]]
    content = workbook([*rows, [None, None, None, None]])
    source = Source("", "", [], workbook=True, columns=["Cement", "Age", "Strength"])
    expected = "Cement,Age,Strength\n540.0,28,61.887365759999994\n332.5,3,40.0\n"
    assert to_csv(source, [content]).decode() == expected
