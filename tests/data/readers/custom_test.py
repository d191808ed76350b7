import collections
import json

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras import files as files_lib
from gpt1_keras.data import examples
from gpt1_keras.data.readers import custom


@pytest.fixture
def write(tmp_path):
    """Write text, or rows as JSON lines, and return the path."""

    def write(name, content):
        if not isinstance(content, str):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8"))
        return path

    return write


# Files with named columns.

LONG = "word " * 40_000
TABLES = [
    ("a.tsv", 'text\tlabel\r\n"so\t1\r\n\r\nit\u2028is"\tx y\n', ["text", "label"], [(2, ['"so', "1"]), (4, ['it\u2028is"', "x y"])]),
    ("a.CSV", '\ufefftext, label\n"a, ""b""\nc",x\n\n,\nd,y\n', ["text", "label"], [(2, ['a, "b"\nc', "x"]), (6, ["d", "y"])]),
    # As spreadsheets write it elsewhere.
    *(("a.csv", f'a{mark}b\r\n"a{mark} b, c"{mark}1\r\n', ["a", "b"], [(2, [f"a{mark} b, c", "1"])]) for mark in ";\t"),
    ("a.csv", f'a,b\n"{LONG}",x\n', ["a", "b"], [(2, [LONG, "x"])]),
]  # fmt: skip
MALFORMED_FILES = [
    ("a.doc", "x", "a.doc has an unknown ending"),
    (
        "a.txt",
        "x\ny\tz\n",
        "line 2: a tab in a text; name the columns in the first line, 'a' among them",
    ),
    ("a.jsonl", "\ufeff", "a.jsonl has no rows"),
    ("a.tsv", "a\tb\n1\t2\n\n1\t2\t3\n", "line 4: 3 columns, not 2"),
    ("a.csv", 'a,b\nx,1\n"y,2\nz,3\n', "line 3: invalid CSV"),
    ("a.csv", "a;b\nx;y;1\n", "quote texts with semicolons"),
    ("a.jsonl", '{"a": "x"}\n{"a": \n', "line 2: invalid JSON"),
    ("a.jsonl", "[" * 100_000, "line 1: invalid JSON"),
    ("a.jsonl", '{"a": NaN}\n', "line 1: invalid JSON (NaN is not a finite"),
]


def read_rows(path):
    columns = custom.Columns(text="a", label=None)
    return custom.read_rows(path, columns, is_labelled=False)


def test_tables(write, tmp_path):
    for name, content, names, expected in TABLES:
        table = custom.read_table(write(name, content))
        assert table.names == names
        assert table.rows == [
            (line, dict(zip(names, values))) for line, values in expected
        ]
    path = write("a.jsonl", '\n{"text": "a\\tb", "n": 1}\n{"c": ["x", null]}\n')
    table = custom.read_table(path)
    assert table.names == ["text", "n", "c"]
    assert table.rows == [
        (2, {"text": "a\tb", "n": 1}),
        (3, {"c": ["x", None]}),
    ]
    for name, content, message in MALFORMED_FILES:
        path = write(name, content)
        with pytest.raises(errors.InputError) as caught:
            read_rows(path)
        assert message in str(caught.value) and str(path) in str(caught.value)
        assert caught.value.args[0].isprintable()
    (tmp_path / "folder.csv").mkdir()
    for name in ("no.tsv", "folder.csv"):
        with pytest.raises(errors.InputError, match=f"{name} cannot be read"):
            custom.read_table(tmp_path / name)
    for name, content in (
        ("b.tsv", b"\xef\xbb\xbfa\tlabel\na\t1\ncaf\xe9\t0\n"),
        ("b.jsonl", b'{"a": "x"}\n\n{"a": "caf\xe9"}\n'),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(errors.InputError, match="line 3: not UTF-8; save"):
            read_rows(tmp_path / name)


# Rows as labelled examples.


@pytest.fixture
def read(write):
    """Write rows as JSONL (or a text as TSV) and read them as examples."""

    def read(content, *, is_labelled=True, **columns):
        path = write(
            "my.tsv" if isinstance(content, str) else "my.jsonl", content
        )
        columns = {"text": "text", "label": "label"} | columns
        return custom.read_rows(
            path, custom.Columns(**columns), is_labelled=is_labelled
        )

    return read


def choice(*choices, label=0):
    return {"text": "a", "choices": list(choices), "label": label}


def test_rows_of_every_family(read):
    rows = read(
        "id\tq\ta\tgold\n7\t Why? \tSo.\tyes\n8\tHow?\tThus.\tno \n",
        **{"text": "q", "text_pair": "a", "label": "gold"},
    )
    assert rows == [
        examples.Example("Why?", "So.", (), "yes"),
        examples.Example("How?", "Thus.", (), "no"),
    ]
    assert [row.line for row in rows] == [2, 3]
    assert rows[0].given == {"id": "7", "q": " Why? ", "a": "So."}
    for label, is_score, expected in (
        *(("good", False, "good"), (" a b ", False, "a b"), (1, False, "1")),
        *((True, False, "true"), (0.5, False, "0.5")),
        *(("3.25", True, 3.25), (2, True, 2.0), ("-1e1", True, -10.0)),
    ):
        (row,) = read([{"text": "a", "label": label}], is_score=is_score)
        assert row.label == expected
        assert type(row.label) is type(expected)
    for choices, label, expected in (
        *((["red", "blue"], 1, 1), (["red", "blue"], "0", 0)),
        *((["red", "blue"], "blue", 1), (["red", " blue "], "blue ", 1)),
        # A number is an index, whatever the choices are.
        *((["1", "0", "2"], "1", 1), (["1", "0", "2"], 2, 2)),
        (["1.5", "2.5"], 2.5, 1),
    ):
        row = choice(*choices, label=label)
        (found,) = read([row], choices="choices")
        assert found.label == expected
        assert found.choices == tuple(c.strip() for c in choices)
    rows = read(
        "text\tA\tB\tC\tlabel\nx\tu\tv\tw\t2\ny\tr\ts\tt\tr\n",
        choices=("A", "B", "C"),
    )
    assert rows == [
        examples.Example("x", "", ("u", "v", "w"), 2),
        examples.Example("y", "", ("r", "s", "t"), 0),
    ]
    rows = read("text\na\nb\n", is_labelled=False)
    assert [row.label for row in rows] == [None, None]
    with pytest.raises(errors.InputError, match="no column 'y'.*rows have no"):
        read("text\na\nb\n", is_labelled=False, label="y")
    content = [{"text": "a", "label": None}, {"text": "b", "label": "x"}]
    rows = read(content, is_labelled=False)
    assert [row.label for row in rows] == [None, "x"]


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from('\n\r\t\x0b\x1c\x7f\x85\u2028\u2029\ufeff"\\')
)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_lines_of_json_are_read_back(tmp_path_factory, pairs):
    """By us, and by any program that reads a file line by line."""
    path = tmp_path_factory.getbasetemp() / "written.jsonl"
    rows = [
        {"text": f"a{text}b", "label": f"x{label}y"} for text, label in pairs
    ]
    lines = [files_lib.json_line(row) for row in rows]
    content = "".join(lines)
    assert len(content.splitlines()) == len(rows)
    assert [json.loads(line) for line in content.splitlines()] == rows
    path.write_text("\n" + content, encoding="utf-8", newline="\n")
    columns = custom.Columns(text="text", label="label")
    found = custom.read_rows(path, columns, is_labelled=True)
    assert [{"text": row.text, "label": row.label} for row in found] == rows


# Three files, or a train file of which a part is held out.

CLASSES = custom.Columns(text="text", label="label")
SCORES = custom.Columns(text="text", label="label", is_score=True)
CHOICES = custom.Columns(text="text", label="label", choices="choices")
MANY = [(f"text {i}", "ab"[i % 4 == 0]) for i in range(100)]


def splits(folder=None, *, columns=CLASSES, dev_fraction=0.2, seed=1, **paths):
    return custom.read_splits(
        folder, columns=columns, dev_fraction=dev_fraction, seed=seed, **paths
    )


def labelled(*pairs):
    return [{"text": text, "label": label} for text, label in pairs]


def test_held_out_rows(write, tmp_path):
    write("train.jsonl", labelled(*MANY))
    train, dev = splits(tmp_path, train="train.jsonl").examples.values()
    # 75 rows of "a", 25 of "b": a fifth of each, in the order of the file.
    assert collections.Counter(e.label for e in dev) == {"a": 15, "b": 5}
    both = sorted(train + dev, key=lambda e: int(e.text.split()[1]))
    assert [(e.text, e.label) for e in both] == MANY
    numbers = [int(e.text.split()[1]) for e in dev]
    assert numbers == sorted(numbers)
    again, other = (
        splits(tmp_path, train="train.jsonl", seed=seed).examples["dev"]
        for seed in (1, 2)
    )
    assert dev == again != other
    # Scores and choices are held out without strata.
    write("s.jsonl", labelled(*((f"t{i}", i / 10) for i in range(10))))
    mine = splits(tmp_path, train="s.jsonl", columns=SCORES)
    assert len(mine.read(None, "dev")) == 2
    assert mine.known.score_range == (0.0, 0.9)
    with pytest.raises(errors.InputError, match="no test file is given"):
        mine.read(None, "test")
    rows = [choice("x", "y") | {"text": f"t{i}"} for i in range(5)]
    mine = splits(train=write("c.jsonl", rows), columns=CHOICES)
    assert [len(each) for each in mine.examples.values()] == [4, 1]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), min_size=2),
    st.floats(0.01, 0.99),
    st.integers(0, 5),
)
def test_a_text_is_on_one_side_only(tmp_path_factory, pairs, fraction, seed):
    path = tmp_path_factory.getbasetemp() / "given.jsonl"
    label = dict(pairs)
    rows = labelled(*((text, label[text]) for text, _ in pairs))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"train": path, "dev_fraction": fraction, "seed": seed}
    num_texts = collections.Counter(map(str, label.values()))
    if len(num_texts) < 2 or min(num_texts.values()) < 2:
        with pytest.raises(errors.InputError):
            splits(**options)
        return
    train, dev = splits(**options).examples.values()
    assert len(train) + len(dev) == len(pairs)
    assert not {e.text for e in train} & {e.text for e in dev}
    for split in (train, dev):
        assert {e.label for e in split} == {"true", "false"}


def test_dev_and_test_files_are_read_beside_train(write, tmp_path):
    write("train.jsonl", labelled(*MANY))
    write("test.tsv", "text\nx\ny\n")
    found = splits(tmp_path, train="train.jsonl", test="test.tsv")
    assert [row.label for row in found.read(None, "test")] == [None, None]
    for rows, message in (
        (labelled(("v", "a"), ("w", "c")), "label 'c', which no training row"),
        ([{"text": "v", "label": "a"}, {"text": "w"}], "'label' is empty"),
    ):
        write("dev.jsonl", rows)
        with pytest.raises(errors.InputError, match=f"line 2: {message}"):
            splits(tmp_path, train="train.jsonl", dev="dev.jsonl")


# All findings at once.

MESSY = """\ufeffid,text,label
1,"good, really",positive
2,,positive
3,fine,
4,"so "so",positive
5,bad,negative
6,awful,negative,!
7,great,Positive
8,poor,negative
9,"two
lines",NEGATIVE
10,nice,positive
11,sad,NEGATIVE
12,,
"""


def test_all_bad_rows_are_listed_at_once(write, tmp_path, logged):
    write("messy.csv", MESSY)
    with pytest.raises(errors.InputError) as caught:
        splits(tmp_path, train="messy.csv")
    assert (
        "6 of 12 rows cannot be used, listed above; the first is line 3: "
        in (str(caught.value))
    )
    assert "set `bad_rows` to 'skip'" in str(caught.value)
    (table,) = logged
    title, header, *lines = table.splitlines()
    assert "8 findings in 7 rows" in title and header.split()[0] == "line"
    assert [" ".join(line.split())[:24] for line in lines] == [
        "3 text is empty: correct",
        "4 label is empty: add a ",
        "5 invalid CSV (',' expec",
        "7 4 columns, not 3; quot",
        "8 label label 'Positive'",
        "10 label only a warning:",
        "14 label is empty: add a",
        "14 text is empty: correc",
    ]
    write("many.tsv", "text\tlabel\n" + "\tx\n" * 30)
    with pytest.raises(errors.InputError, match="30 of 30 rows"):
        splits(tmp_path, train="many.tsv")
    assert logged[-1].splitlines()[-1].strip() == "and 10 more"


def test_bad_rows_are_skipped_and_written(write, tmp_path, logged):
    write("messy.csv", MESSY)
    mine = splits(tmp_path, train="messy.csv", bad_rows="skip")
    both = mine.examples["train"] + mine.examples["dev"]
    assert sorted(e.line for e in both) == [2, 6, 9, 10, 12, 13]
    custom.report_skipped(mine.skipped, tmp_path / "new")
    path = tmp_path / "new" / "skipped_rows.tsv"
    assert "messy.csv: skipping 6 of 12 rows; the first is line 3" in logged[0]
    assert str(path) in logged[-1]
    header, *lines = path.read_text().splitlines()
    assert header == "file\tline\tcolumn\twhat\trow"
    assert [
        tuple(line.split("\t")[i] for i in (1, 2, 4)) for line in lines
    ] == [
        ("3", "text", "2,,positive"),
        ("4", "label", "3,fine,"),
        ("5", "", '4,"so "so",positive'),
        ("7", "", "6,awful,negative,!"),
        ("8", "label", "7,great,Positive"),
        ("14", "label", "12,,"),
        ("14", "text", "12,,"),
    ]
    write("open.csv", 'text,label\na,x\n"b,y\n' + "c,x\n" * 9)
    columns = custom.Columns(text="text", label="label")
    path = tmp_path / "open.csv"
    custom.read_rows(path, columns, is_labelled=True, skipped=[])
    assert "skipping 1 of 2 rows (10 lines); the first is line 3" in logged[-1]
    write("bad.csv", "text,label\n,x\n")
    with pytest.raises(errors.InputError, match="line 2: 'text' is empty"):
        splits(tmp_path, train="bad.csv", bad_rows="skip")


# Suspicious data.


def test_each_warning_comes_once(write, tmp_path, logged):
    write("train.jsonl", labelled(*MANY, ("text 3", "b"), ("rare", "c")))
    write("dev.jsonl", labelled(("text 5", "a"), ("v", "b")))
    splits(tmp_path, train="train.jsonl", dev="dev.jsonl")
    repeated, contradictory, imbalance, overlap, few = logged
    assert "repeated texts: 1" in repeated
    assert "line 4 'a', line 101 'b'" in contradictory
    assert "'c' 1 rows (line 102 is the first of 'c')" in imbalance
    assert "train.jsonl: 1 of 2" in overlap and "its line 6" in overlap
    assert "dev.jsonl: the dev split has only 2 rows" in few
    logged.clear()
    write("held.jsonl", labelled(*MANY))
    splits(tmp_path, train="held.jsonl")
    (few,) = logged
    assert "only 20 rows" in few and "5.0 % of accuracy" in few
