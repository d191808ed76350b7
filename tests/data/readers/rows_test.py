import csv
import io
import json

import hypothesis
import pytest
from absl import logging
from hypothesis import strategies

from gpt1_keras import errors
from gpt1_keras.data.readers import rows

SETTINGS = hypothesis.settings(max_examples=60)
# Everything but the characters that end fields and lines of a GLUE file.
FIELDS = strategies.text(
    strategies.characters(
        exclude_categories=["Cs"], exclude_characters="\t\n\r\ufeff"
    )
)


def write(folder, content, name="data.tsv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def plain(found):
    """Rows with bad ones as their reason."""
    return [
        (line, str(row) if isinstance(row, rows.BadRow) else row)
        for line, row in found
    ]


# Traps of real files: quotes, BOM, carriage returns, characters that
# str.splitlines takes for line breaks, no line break at the end, blank lines.
@pytest.mark.parametrize(
    "content, expected",
    [
        ('a\t"b\nc"\td\n', [(1, ["a", '"b']), (2, ['c"', "d"])]),
        ("\ufeffa\tb\nc\td", [(1, ["a", "b"]), (2, ["c", "d"])]),
        ("a\tb\r\nc\td\r\n", [(1, ["a", "b"]), (2, ["c", "d"])]),
        ("a\x85\x0b\u2028\tb\n", [(1, ["a\x85\x0b\u2028", "b"])]),
        ("a\n\n  \nb\n\n", [(1, ["a"]), (4, ["b"])]),
        ("a\t\tb\n", [(1, ["a", "", "b"])]),
        ("", []),
    ],
)
def test_tab_separated(tmp_path, content, expected):
    path = write(tmp_path, content)
    assert list(rows.tab_separated(path)) == expected


def test_line_that_is_not_utf8_is_one_bad_row(tmp_path):
    path = write(tmp_path, b"a\tb\nc\xff\td\ne\tf\n")
    found = plain(rows.tab_separated(path))
    assert found[0] == (1, ["a", "b"]) and found[2] == (3, ["e", "f"])
    assert found[1] == (2, "not UTF-8 (invalid start byte)")


@SETTINGS
@hypothesis.given(
    table=strategies.lists(strategies.tuples(FIELDS, FIELDS), max_size=8)
)
def test_tab_separated_returns_what_was_written(tmp_path_factory, table):
    table = [["x", *row] for row in table]
    path = write(
        tmp_path_factory.mktemp("rows"),
        "".join("\t".join(row) + "\n" for row in table),
    )
    assert list(rows.tab_separated(path)) == list(enumerate(table, 1))


@pytest.mark.parametrize(
    "content, expected",
    [
        ('a,"b, ""c"""\n', [(1, ["a", 'b, "c"'])]),
        ('a,"b\n\nc"\nd,e\n', [(1, ["a", "b\n\nc"]), (4, ["d", "e"])]),
        ("\ufeffa,b\r\n\r\nc,d", [(1, ["a", "b"]), (3, ["c", "d"])]),
        ("a,b\x85\u2028\n", [(1, ["a", "b\x85\u2028"])]),
    ],
)
def test_comma_separated(tmp_path, content, expected):
    path = write(tmp_path, content)
    assert list(rows.comma_separated(path)) == expected


def test_comma_separated_goes_on_after_a_broken_row(tmp_path):
    too_long = "x" * (csv.field_size_limit() + 1)
    path = write(tmp_path, f"a,b\n{too_long},b\nc,d\n")
    (_, first), (line, broken), (_, last) = plain(rows.comma_separated(path))
    assert (first, last) == (["a", "b"], ["c", "d"])
    assert line == 2 and broken.startswith("no CSV (field larger than")


def test_comma_separated_names_the_line_that_is_not_utf8(tmp_path):
    path = write(tmp_path, b"a,b\nc,\xe9\n")
    with pytest.raises(errors.InputError, match="line 2 is not UTF-8: save"):
        list(rows.comma_separated(path))


@SETTINGS
@hypothesis.given(
    table=strategies.lists(strategies.tuples(FIELDS, FIELDS), max_size=8)
)
def test_comma_separated_returns_what_was_written(tmp_path_factory, table):
    table = [["x", *row] for row in table]
    buffer = io.StringIO()
    csv.writer(buffer).writerows(table)
    path = write(tmp_path_factory.mktemp("rows"), buffer.getvalue())
    assert [row for _, row in rows.comma_separated(path)] == table


def test_json_lines(tmp_path):
    path = write(
        tmp_path,
        '\ufeff{"a": "\\u00e9"}\n\n[1]\n{"a": \n{"b": 1}\r\n' + "[" * 99_999,
    )
    found = plain(rows.json_lines(path))
    assert found[0] == (1, {"a": "é"})
    assert found[1] == (3, "no JSON object")
    assert found[2][0] == 4 and found[2][1].startswith("no JSON (")
    assert found[3] == (5, {"b": 1})
    assert found[4][0] == 6 and found[4][1].startswith("no JSON (")


@SETTINGS
@hypothesis.given(
    table=strategies.lists(strategies.dictionaries(FIELDS, FIELDS, min_size=1))
)
def test_json_lines_returns_what_was_written(tmp_path_factory, table):
    content = "".join(
        json.dumps(row, ensure_ascii=False) + "\n" for row in table
    )
    path = write(tmp_path_factory.mktemp("rows"), content)
    assert [row for _, row in rows.json_lines(path)] == table


@pytest.mark.parametrize(
    "form", [rows.tab_separated, rows.comma_separated, rows.json_lines]
)
def test_missing_file_and_folder(tmp_path, form):
    for path in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(errors.InputError, match=f"^{path} cannot be read"):
            list(form(path))


def test_select_keeps_the_named_columns():
    table = [
        ["a ", "b", "c"],
        ["1", "x", "y"],
        ["2", "x"],
        ["3"],
        ["4", "p", "q"],
    ]
    found = rows.select(
        "data", enumerate(table, 1), ("c", "a"), optional=("d", "b")
    )
    assert plain(found) == [
        (2, ["y", "1", None, "x"]),
        (3, "2 columns, not 3"),
        (4, "1 column, not 3"),
        (5, ["q", "4", None, "p"]),
    ]


def test_select_passes_bad_rows_on():
    bad = rows.BadRow("not UTF-8")
    found = rows.select("data", [(1, ["a"]), (2, bad)], ("a",))
    assert list(found) == [(2, bad)]


@pytest.mark.parametrize(
    "table, message",
    [
        (
            [(1, ["a", "b"])],
            "^data.tsv line 1 names no column 'c' but 'a', 'b': take",
        ),
        ([], "^data.tsv line 1 names no column 'a' but nothing: take"),
        (
            [(1, rows.BadRow("not UTF-8"))],
            "^data.tsv line 1: not UTF-8; take",
        ),
    ],
)
def test_select_refuses_another_header(table, message):
    with pytest.raises(errors.InputError, match=message):
        list(rows.select("data.tsv", table, ("a", "c")))


def parse(row):
    if row == "drop":
        return None
    return rows.text_of(row, "sentence")


def test_collect_leaves_bad_rows_out(monkeypatch):
    shown = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *v: shown.append(text % v)
    )
    table = [(1, " x "), (2, ""), (3, "drop"), (4, "y")]
    assert rows.collect("data.tsv", table, parse) == ["x", "y"]
    assert shown == ["data.tsv line 2: sentence is empty; left out"]


@pytest.mark.parametrize("bad", ["", rows.BadRow("no JSON")])
def test_collect_keeps_the_place_of_bad_rows(bad):
    table = [(1, "x"), (2, bad), (3, "y")]
    assert rows.collect("data", table, parse, substitute="-") == ["x", "-", "y"]


def test_collect_counts_rows_left_out_as_readable():
    """Two bad rows are 1 % of 200, whether or not the others are wanted."""
    table = [
        (1, ""),
        (2, ""),
        *((i, "drop") for i in range(3, 200)),
        (200, "x"),
    ]
    assert rows.collect("data", table, parse) == ["x"]
    with pytest.raises(
        errors.InputError, match="^data line 1: sentence is empty; 2 of 199"
    ):
        rows.collect("data", table[:-1], parse)


@pytest.mark.parametrize(
    "value, reason",
    [
        ("", "sentence is empty"),
        (" \u3000", "sentence is empty"),
        (None, "sentence is no text"),
        (3, "sentence is no text"),
        ("\ud800", "sentence holds half a character"),
    ],
)
def test_text_of_refuses(value, reason):
    with pytest.raises(rows.BadRow, match=f"^{reason}"):
        rows.text_of(value, "sentence")


def test_label_of():
    assert rows.label_of("yes", ("yes", "no")) == "yes"
    for value in ("Yes", "", None, 1):
        with pytest.raises(
            rows.BadRow, match=f"^label {value!r} is none of yes, no$"
        ):
            rows.label_of(value, ("yes", "no"))
