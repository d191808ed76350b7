import io

import pytest

from gpt1_keras import errors
from gpt1_keras.data.readers import rows
from tests.reference import data_files

TAB, COMMA, JSON = rows.tab_separated, rows.comma_separated, rows.json_lines
# Traps of real files: quotes, BOM, carriage returns, characters that
# str.splitlines takes for line breaks, no line break at the end, blank lines,
# bytes that are not UTF-8, broken rows.
FORMATS = [
    (TAB, 'a\t"b\nc"\td\n', [(1, ["a", '"b']), (2, ['c"', "d"])]),
    (TAB, "\ufeffa\tb\nc\td", [(1, ["a", "b"]), (2, ["c", "d"])]),
    (TAB, "a\tb\r\nc\rd\te\r\n", [(1, ["a", "b"]), (2, ["c d", "e"])]),
    (TAB, "a \x85\x0b\x0c\x1c\u2028\t b\n", [(1, ["a \x85\x0b\x0c\x1c\u2028", " b"])]),
    (TAB, "a\n\n  \nb\n\n", [(1, ["a"]), (4, ["b"])]),
    (TAB, "a\t\tb\n", [(1, ["a", "", "b"])]),
    (TAB, "", []),
    (TAB, "a\tb\r\rc\td", [(1, ["a", "b"]), (3, ["c", "d"])]),
    (TAB, "a\0b\nc\n", [(1, "a NUL character (UTF-16?)"), (2, ["c"])]),
    (TAB, b"a\nc\xff\td\ne\n", [(1, ["a"]), (2, "not UTF-8"), (3, ["e"])]),
    (COMMA, 'a,"b, ""c"""\n', [(1, ["a", 'b, "c"'])]),
    (COMMA, 'a,"b\n\nc"\nd,e\n', [(1, ["a", "b\n\nc"]), (4, ["d", "e"])]),
    (COMMA, "\ufeffa,b\r\n\r\nc,d", [(1, ["a", "b"]), (3, ["c", "d"])]),
    (COMMA, "a, b\x85\x0b\x0c\x1c\u2028\n", [(1, ["a", " b\x85\x0b\x0c\x1c\u2028"])]),
    (COMMA, b"a,b\nc,\xe9\nd\n", [(1, ["a", "b"]), (2, "not UTF-8"), (3, ["d"])]),
    (JSON, '\ufeff{"a": "\\u00e9"}\n\n{"b": 1}\r\n', [(1, {"a": "é"}), (3, {"b": 1})]),
    (JSON, '{"a": 1}\r{"b": 1}\r', [(1, {"a": 1}), (2, {"b": 1})]),
    (JSON, "[1]\n", [(1, "not a JSON object")]),
    (JSON, b'{"a": 1}\n{"a": "\xff"}\n', [(1, {"a": 1}), (2, "not UTF-8")]),
]  # fmt: skip


def test_formats(tmp_path):
    for read, content, expected in FORMATS:
        found = [
            (line, str(row) if isinstance(row, rows.BadRow) else row)
            for line, row in read(data_files.write(tmp_path, "a", content))
        ]
        assert found == expected


def test_type_of_standard_input(monkeypatch, logged):
    for content, suffix in (
        ("id,text (raw),text\n", ".csv"),
        ("a\tb\n", ".tsv"),
        ("Message, text, mail: all cost extra.\nYes.\n", ".txt"),
        ("No columns, one text.\n", ".txt"),
    ):
        piped = io.TextIOWrapper(io.BytesIO(content.encode()))
        monkeypatch.setattr("sys.stdin", piped)
        assert rows.StandardInput("text", False).suffix == suffix
    assert len(logged) == 3 and "read as .csv, judging by" in logged[0]


def test_a_few_bad_rows_are_tolerated(logged):
    def parse(row):
        if row == "bad":
            raise rows.BadRow("it is bad")
        return None if row == "unwanted" else row

    def collect(*found, **options):
        return rows.collect("a.tsv", enumerate(found, 1), parse, **options)

    assert collect("x", "bad", "unwanted", "y") == ["x", "y"]
    assert collect("x", "bad", substitute="") == ["x", ""]
    assert logged == [
        f"a.tsv line 2: it is bad; {remedy}"
        for remedy in ("skipped", "read as empty")
    ]
    logged.clear()
    # One in a hundred.
    assert len(collect(*["x"] * 594, *["bad"] * 6)) == 594
    assert len(logged) == 6
    assert logged[-1] == "a.tsv: 6 of 600 rows cannot be read; skipped"
    for found, message in (
        ([], "a.tsv has no rows"),
        (["bad"], "a.tsv line 1: it is bad; 1 of 1 rows"),
        (["x", "bad", "bad"], "a.tsv line 2: it is bad; 2 of 3 rows"),
        (["x"] * 593 + ["bad"] * 7, "; 7 of 600 rows cannot be read"),
    ):
        with pytest.raises(errors.InputError, match=message):
            collect(*found)
    places = [("1.txt question 2", rows.BadRow("no text")), ("b", "x")]
    assert rows.collect("folder", places, parse) == ["x"]
    assert logged[-1] == "1.txt question 2: no text; skipped"
