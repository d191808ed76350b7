import csv
import io
import json
import re

import hypothesis
import pytest
from hypothesis import strategies

from gpt1_keras import errors
from gpt1_keras.data.readers import rows

SETTINGS = hypothesis.settings(max_examples=40)
# Everything but the characters that end fields and lines of a GLUE file.
FIELDS = strategies.text(
    strategies.characters(
        exclude_categories=["Cs"], exclude_characters="\t\n\r\ufeff"
    )
)
TABLES = strategies.lists(strategies.tuples(FIELDS, FIELDS), max_size=8)


def write(folder, content):
    path = folder / "data.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def plain(found):
    """Rows with bad ones as their reason."""
    return [
        (line, str(row) if isinstance(row, rows.BadRow) else row)
        for line, row in found
    ]


# Traps of real files: quotes, BOM, carriage returns, characters that
# str.splitlines takes for line breaks, no line break at the end, blank lines,
# bytes that are not UTF-8, broken rows.
FORMATS = [
    ("tab", 'a\t"b\nc"\td\n', [(1, ["a", '"b']), (2, ['c"', "d"])]),
    ("tab", "\ufeffa\tb\nc\td", [(1, ["a", "b"]), (2, ["c", "d"])]),
    ("tab", "a\tb\r\nc\rd\te\r\n", [(1, ["a", "b"]), (2, ["c d", "e"])]),
    ("tab", "a\x85\x0b\u2028\tb\n", [(1, ["a\x85\x0b\u2028", "b"])]),
    ("tab", "a\n\n  \nb\n\n", [(1, ["a"]), (4, ["b"])]),
    ("tab", "a\t\tb\n", [(1, ["a", "", "b"])]),
    ("tab", "", []),
    ("tab", b"a\nc\xff\td\ne\n", [(1, ["a"]), (2, "not UTF-8"), (3, ["e"])]),
    ("comma", 'a,"b, ""c"""\n', [(1, ["a", 'b, "c"'])]),
    ("comma", 'a,"b\n\nc"\nd,e\n', [(1, ["a", "b\n\nc"]), (4, ["d", "e"])]),
    ("comma", "\ufeffa,b\r\n\r\nc,d", [(1, ["a", "b"]), (3, ["c", "d"])]),
    ("comma", "a,b\x85\u2028\n", [(1, ["a", "b\x85\u2028"])]),
    ("comma", b"a,b\nc,\xe9\nd\n", [(1, ["a", "b"]), (2, "not UTF-8"), (3, ["d"])]),
    ("json", '\ufeff{"a": "\\u00e9"}\n\n{"b": 1}\r\n', [(1, {"a": "é"}), (3, {"b": 1})]),
    ("json", "[1]\n", [(1, "not a JSON object")]),
    ("json", b'{"a": 1}\n{"a": "\xff"}\n', [(1, {"a": 1}), (2, "not UTF-8")]),
]  # fmt: skip


def test_formats(tmp_path):
    read = {
        "tab": rows.tab_separated,
        "comma": rows.comma_separated,
        "json": rows.json_lines,
    }
    for form, content, expected in FORMATS:
        assert plain(read[form](write(tmp_path, content))) == expected


def test_reading_continues_after_a_broken_row(tmp_path):
    path = write(tmp_path, 'a,b\n"x"y,b\nc,d\n')
    found = plain(rows.comma_separated(path, strict=True))
    assert found[::2] == [(1, ["a", "b"]), (3, ["c", "d"])]
    assert found[1][0] == 2 and found[1][1].startswith("invalid CSV (")
    path = write(tmp_path, '{"a": \n{"b": 1}\n' + "[" * 99_999)
    found = plain(rows.json_lines(path))
    assert found[1] == (2, {"b": 1})
    for line, reason in found[::2]:
        assert line in (1, 3) and reason.startswith("invalid JSON (")


@SETTINGS
@hypothesis.given(table=TABLES)
def test_every_format_returns_what_was_written(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("rows")
    table = [["x", *row] for row in table]
    numbered = list(enumerate(table, 1))
    content = "".join("\t".join(row) + "\n" for row in table)
    assert list(rows.tab_separated(write(folder, content))) == numbered
    buffer = io.StringIO()
    csv.writer(buffer).writerows(table)
    path = write(folder, buffer.getvalue())
    assert list(rows.comma_separated(path)) == numbered
    dicts = [dict(enumerate(row)) for row in table]
    dicts = [{str(i): text for i, text in row.items()} for row in dicts]
    content = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in dicts)
    path = write(folder, content)
    assert [row for _, row in rows.json_lines(path)] == dicts


def test_missing_file_and_folder(tmp_path):
    for read in (rows.tab_separated, rows.comma_separated, rows.json_lines):
        for path in (tmp_path / "none.tsv", tmp_path):
            with pytest.raises(errors.InputError, match=f"^{path} cannot be"):
                list(read(path))


def test_select():
    table = [["a ", "b", "c"], ["1", "x", "y"], ["2", "x"], ["3"]]
    found = rows.select(
        "data",
        [*enumerate(table, 1), (5, rows.BadRow("not UTF-8"))],
        ("c", "a"),
        optional=("d", "b"),
    )
    assert plain(found) == [
        (2, ["y", "1", None, "x"]),
        (3, "2 columns, not 3"),
        (4, "1 column, not 3"),
        (5, "not UTF-8"),
    ]
    for table, message in (
        ([(1, ["a", "b"])], "line 1 names no column 'c' but 'a', 'b': use"),
        ([], "line 1 names no column 'a' but nothing: use"),
        ([(1, rows.BadRow("not UTF-8"))], "line 1: not UTF-8; use"),
    ):
        with pytest.raises(errors.InputError, match=f"^data.tsv {message}"):
            list(rows.select("data.tsv", table, ("a", "c")))


def parse(row):
    return None if row == "drop" else rows.text_of(row, "sentence")


def test_collect(logged):
    table = [(1, " x "), (2, ""), (3, "drop"), (4, "y")]
    assert rows.collect("data.tsv", table, parse) == ["x", "y"]
    assert logged == ["data.tsv line 2: sentence is empty; skipped"]
    for bad in ("", rows.BadRow("invalid JSON")):
        table = [(1, "x"), (2, bad), (3, "y")]
        found = rows.collect("data", table, parse, substitute="-")
        assert found == ["x", "-", "y"]
    assert logged[-1] == "data line 2: invalid JSON; read as empty"

    # Rows that are not wanted count as readable: two bad ones are 1 % of 200.
    dropped = [(i, "drop") for i in range(3, 200)]
    table = [(1, ""), (2, ""), *dropped, (200, "x")]
    assert rows.collect("data", table, parse) == ["x"]
    with pytest.raises(
        errors.InputError, match="^data line 1: sentence is empty; 2 of 199"
    ):
        rows.collect("data", table[:-1], parse)


def test_tolerance(logged):
    for bad, total, is_tolerated in (
        *((0, 1, True), (1, 2, True), (1, 199, True), (2, 200, True)),
        *((10, 1000, True), (1, 1, False), (2, 199, False), (2, 2, False)),
        (11, 1000, False),
    ):
        found = rows.BadRows("data.tsv")
        for line in range(bad):
            found.add(f"data.tsv line {10 + line}", "2 columns, not 4")
        if is_tolerated:
            found.check(total)
            continue
        message = f"^data.tsv line 10: 2 columns, not 4; {bad} of {total} rows"
        with pytest.raises(errors.InputError, match=message):
            found.check(total)
    logged.clear()
    found = rows.BadRows("data.tsv", remedy="read as empty")
    with pytest.raises(errors.InputError, match="^data.tsv has no rows: use"):
        found.check(0)
    for line in range(7):
        found.add(f"data.tsv line {line}", "2 columns, not 4")
        found.check(1000)
    first = "data.tsv line {}: 2 columns, not 4; read as empty"
    assert logged == [
        *(first.format(line) for line in range(5)),
        "data.tsv: 6 of 1000 rows cannot be read; read as empty",
        "data.tsv: 7 of 1000 rows cannot be read; read as empty",
    ]


def test_texts_and_labels():
    assert rows.text_of(" a b\n", "sentence") == "a b"
    for value, reason in (
        *(("", "is empty"), (" \u3000", "is empty")),
        *((None, "is not text"), (3, "is not text")),
        *(("\ud800", "is not valid UTF-8"), ("\udce9", "is not valid UTF-8")),
    ):
        with pytest.raises(rows.BadRow, match=f"^sentence {reason}$"):
            rows.text_of(value, "sentence")
    assert rows.label_of("yes", ("yes", "no")) == "yes"
    for value in ("Yes", "", None, 1, ["yes"]):
        message = re.escape(f"label {value!r} is not one of yes, no")
        with pytest.raises(rows.BadRow, match=f"^{message}$"):
            rows.label_of(value, ("yes", "no"))


def test_files_splits_and_counts(tmp_path, logged):
    for name in ("b", "c"):
        (tmp_path / name).mkdir()
    assert rows.find_file(tmp_path, ["a", "b", "c"]) == tmp_path / "b"
    assert rows.find_file(str(tmp_path), ["c"]) == tmp_path / "c"
    message = f"{tmp_path}/glue/dev.tsv does not exist: put the official files"
    with pytest.raises(errors.InputError, match=re.escape(message)):
        rows.find_file(tmp_path, ["glue/dev.tsv", "dev.tsv"])
    for split in ("train", "dev", "test"):
        rows.check_split(split)
    with pytest.raises(errors.InputError, match="'dev' is not one of test: "):
        rows.check_split("dev", ["test"])
    for count in (277, 276):
        rows.check_row_count(tmp_path, "rte", "dev", count, 277)
    expected = f"{tmp_path}: 276 dev examples of rte, the official files have"
    assert logged == [f"{expected} 277"]
    (tmp_path / "sample_benchmarks.json").write_text("{}")
    rows.check_row_count(str(tmp_path), "rte", "dev", 12, 277)
    assert len(logged) == 1
