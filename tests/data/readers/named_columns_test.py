import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data.readers import custom

# What UTF-8 can hold; NUL is no text.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@pytest.fixture
def write(tmp_path):
    """Write a file, return its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8"))
        return path

    return write


def test_tsv_is_not_quoted(write):
    path = write("a.tsv", 'text\tlabel\r\n"so\t1\r\n\r\nit\u2028is"\tx y\n')
    table = custom.read_table(path)
    assert table.names == ["text", "label"]
    assert table.rows == [
        (2, {"text": '"so', "label": "1"}),
        (4, {"text": 'it\u2028is"', "label": "x y"}),
    ]


def test_csv_is_quoted(write):
    path = write(
        "a.CSV",
        '\ufefftext, label\n"a, ""b""\nc",x\n\n,\nd,y\n',
    )
    table = custom.read_table(path)
    assert table.names == ["text", "label"]
    assert table.rows == [
        (2, {"text": 'a, "b"\nc', "label": "x"}),
        (6, {"text": "d", "label": "y"}),
    ]


@pytest.mark.parametrize("comma", [";", "\t"])
def test_csv_as_spreadsheets_write_it_elsewhere(write, comma):
    path = write("a.csv", f'text{comma}label\r\n"a{comma} b, c"{comma}1\r\n')
    table = custom.read_table(path)
    assert table.rows == [(2, {"text": f"a{comma} b, c", "label": "1"})]


def test_jsonl_keeps_types(write):
    path = write("a.jsonl", '\n{"text": "a\\tb", "n": 1}\n{"c": ["x", null]}\n')
    table = custom.read_table(path)
    assert table.names == ["text", "n", "c"]
    assert table.rows == [
        (2, {"text": "a\tb", "n": 1}),
        (3, {"c": ["x", None]}),
    ]


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1))
def test_csv_of_the_standard_writer_comes_back(tmp_path_factory, rows):
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    # A carriage return alone is a line break to some writers and readers.
    rows = [(a.replace("\r", ""), b.replace("\r", "")) for a, b in rows]
    writer.writerows([("one", "two"), *rows])
    path = tmp_path_factory.getbasetemp() / "given.csv"
    path.write_bytes(file.getvalue().encode("utf-8"))
    expected = [row for row in rows if any(map(str.strip, row))]
    if not expected:
        with pytest.raises(errors.InputError, match="has no rows"):
            custom.read_table(path)
        return
    found = [tuple(row.values()) for _, row in custom.read_table(path).rows]
    assert found == expected


@given(st.lists(st.dictionaries(TEXT, TEXT | st.integers()), min_size=1))
def test_json_lines_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "given.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes("\n".join(lines).encode("utf-8"))
    table = custom.read_table(path)
    assert table.rows == list(enumerate(rows, 1))
    assert set(table.names) == {name for row in rows for name in row}


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.txt", "x", "a.txt has an unknown ending"),
        ("a.tsv", " \n\n", "a.tsv is empty"),
        ("a.jsonl", "\ufeff", "a.jsonl is empty"),
        ("a.csv", "text,label\n\n", "a.csv has no rows"),
        (
            "a.tsv",
            "a\tb\n1\t2\n\n1\t2\t3\n",
            "line 4 has 3 columns, its header 2",
        ),
        ("a.csv", 'a,b\n"x\ny",1\nz\n', "line 4 has 1 columns, its header 2"),
        ("a.csv", 'a,b\nx,1\n"y,2\nz,3\n', "line 3 is no CSV"),
        ("a.csv", 'a,b\n"x"y,1\n', "line 2 is no CSV"),
        ("a.csv", "a;b\nx;y;1\n", "with semicolons in quotes"),
        ("a.tsv", "a\tb\ta\n1\t2\t3\n", "line 1 names column 'a' twice"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "line 2 is broken JSON"),
        ("a.jsonl", '{"a": 1}\n["a"]\n', "line 2 is no JSON object"),
        ("a.jsonl", "[" * 100_000, "line 1 is broken JSON"),
    ],
)
def test_mistakes_are_named(write, name, content, message):
    path = write(name, content)
    with pytest.raises(errors.InputError) as caught:
        custom.read_table(path)
    assert message in str(caught.value) and str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(errors.InputError, match=r"no\.tsv does not exist"):
        custom.read_table(tmp_path / "no.tsv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(errors.InputError, match=r"folder\.csv cannot be read"):
        custom.read_table(tmp_path / "folder.csv")


def test_line_that_is_not_utf_8(tmp_path):
    path = tmp_path / "latin.tsv"
    path.write_bytes(b"\xef\xbb\xbftext\tlabel\na\t1\ncaf\xe9\t0\n")
    with pytest.raises(errors.InputError, match="line 3 is not UTF-8"):
        custom.read_table(path)


def test_a_field_of_any_length(write):
    text = "word " * 40_000
    path = write("a.csv", f'text,label\n"{text}",x\nshort,y\n')
    assert len(custom.read_table(path).rows) == 2
