"""Files with named columns, as examples; rows_test.py has their traps."""

import collections
import functools
import gzip
import itertools
import os

import hypothesis
import pytest
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data.readers import custom
from tests.reference import data_files


@pytest.fixture
def write(tmp_path):
    return functools.partial(data_files.write, tmp_path)


def columns_of(**columns):
    return custom.Columns(**{"text": "text", "label": "label"} | columns)


def read(path, is_labelled=True, skipped=None, **columns):
    return custom.read_rows(
        custom.read_table(path),
        columns_of(**columns),
        is_labelled=is_labelled,
        skipped=skipped,
    )


def labelled(*pairs):
    return [{"text": text, "label": label} for text, label in pairs]


LONG = "word " * 40_000
TABLES = [
    ("a.tsv", 'text\tlabel\r\n"so\t1\r\n\r\nit\u2028is"\tx y\n', [(2, ['"so', "1"]), (4, ['it\u2028is"', "x y"])]),
    ("a.CSV", '\ufefftext, label\n"a, ""b""\nc",x\n\n,\nd,y\n', [(2, ['a, "b"\nc', "x"]), (6, ["d", "y"])]),
    # As spreadsheets write it elsewhere.
    *(("a.csv", f'text{mark}label\r\n"a{mark} b, c"{mark}1\r\n', [(2, [f"a{mark} b, c", "1"])]) for mark in ";\t"),
    ("a.csv", '\ufeffsep=;\r\ntext;label\r\n"a, b";1\r\n', [(3, ["a, b", "1"])]),
    ("a.csv", 'text, label\n"a, b", "x ""y"""\n', [(2, ["a, b", 'x "y"'])]),
    # Of a Mac: a line feed is in a text.
    ("a.csv", 'text,label\r"a\nb",x\rc,y\r', [(2, ["a\nb", "x"]), (4, ["c", "y"])]),
    ("a.csv", f'text,label\n"{LONG}",x\n', [(2, [LONG, "x"])]),
    ("a.jsonl", '\n{"text": "a\\tb"}\n{"label": ["x", null]}\n', [(2, ["a\tb"]), (3, [["x", None]])]),
]  # fmt: skip
CHOICES = {"choices": ("choices",)}
ROWS = [
    ("a.tsv", "id\tq\ta\ty\n7\t Why? \tSo.\tno \n", {"text": "q", "text_pair": "a", "label": "y"}, [("Why?", "So.", (), "no")]),
    ("a.tsv", "text\tA\tB\tC\tlabel\nx\tu\tv\tw\t2\ny\tr\ts\tt\tr\n", {"choices": ("A", "B", "C")}, [("x", "", ("u", "v", "w"), 2), ("y", "", ("r", "s", "t"), 0)]),
    ("a.csv", 'text;label;"a, b"\nc, d;y;z\n', {}, [("c, d", "", (), "y")]),
    ("a.csv", 'text,label,"a;b;c"\nc,y,z\n', {}, [("c", "", (), "y")]),
    ("a.txt", "a\nb\tc\n", {"is_labelled": False}, [("a", "", (), None), ("b\tc", "", (), None)]),
    ("a.jsonl", labelled(("a", None), ("b", "x")), {"is_labelled": False}, [("a", "", (), None), ("b", "", (), "x")]),
    *(
        ("a.jsonl", labelled(("a", label)), {"is_score": type(expected) is float}, [("a", "", (), expected)])
        for label, expected in [(" a b ", "a b"), (1, "1"), (True, "true"), (0.5, "0.5"), ("3.25", 3.25), (2, 2.0), ("-1e1", -10.0)]
    ),
    *(
        ("a.jsonl", [{"text": "a", "choices": choices, "label": label}], CHOICES, [("a", "", tuple(choices), expected)])
        for choices, label, expected in [
            *((["red", "blue"], 1, 1), (["red", "blue"], "0", 0), (["red", "blue"], "blue ", 1)),
            # A number is an index, whatever the choices are.
            *((["1", "0", "2"], 1, 1), (["1.5", "2.5"], 2.5, 1)),
            # A string is either, if only one is possible or both are the same.
            *((["1", "0", "2"], "2", 2), (["7", "9"], "9", 1), (["7", "9"], "1", 1)),
        ]
    ),
]  # fmt: skip
WRONG = [
    ("a.doc", "x", {}, "a.doc has an unknown ending"),
    ("a.tsv", "", {}, "a.tsv has no rows"),
    ("a.jsonl", "\ufeff", {}, "a.jsonl has no rows"),
    ("a.tsv", "text\tlabel\n1\t2\n\n1\t2\t3\n", {}, "line 4: 3 columns, not 2"),
    ("a.tsv", b"\xef\xbb\xbftext\tlabel\na\t1\ncaf\xe9\t0\n", {}, "line 3: not UTF-8; save"),
    ("a.csv", "text,label\ncaf\xe9\n".encode("utf-16"), {}, "a.csv is UTF-16: save it as UTF-8"),
    ("a.csv", gzip.compress(b"text,label\n"), {}, "a.csv is compressed: unpack it"),
    ("a.jsonl", b"PK\3\4\x14\0", {}, "a.jsonl is compressed: unpack it"),
    ("a.csv", 'text,"label" x\n', {}, "line 1: invalid CSV (',' expected after '\"'); correct it, with"),
    *(("a.jsonl", f'{start}\n"text": "x"', {}, "a.jsonl is one JSON value, not") for start in ("[{", "{")),
    ("a.csv", 'text,label\nx,1\n"y,2\nz,3\n', {}, "line 3: invalid CSV"),
    ("a.csv", "text,b,text\nx,y,z\n", {}, "line 1 names column 'text' twice"),
    ("a.tsv", "q\tlabel\na\tb\n", {}, "has no column 'text' (found: 'q', 'label'): rename a column, or set `text`"),
    ("a.tsv", "text\na\n", {"is_labelled": False, "label": "y"}, "set `label` (None: the rows have no labels)"),
    ("a.jsonl", '{"text": "x"}\n{"text": \n', {"is_labelled": False}, "line 2: invalid JSON"),
    ("a.jsonl", '{"text": NaN}\n', {}, "line 1: invalid JSON (NaN is not a finite"),
    ("a.jsonl", [{"text": 3, "label": "x"}], {}, "line 1: 'text' is not text"),
    ("a.jsonl", [{"text": "a", "label": " "}], {}, "'label' is empty"),
    ("a.jsonl", [{"text": "a", "label": "high"}], {"is_score": True}, "'label' is 'high': give a number"),
    ("a.jsonl", [{"text": "a", "label": True}], {"is_score": True}, "'label' is True: give a number"),
    ("a.jsonl", [{"text": "a", "label": "1e300"}], {"is_score": True}, "'1e300': give a number up to 9e15"),
    ("a.jsonl", [{"text": "a", "choices": ["b", "c"], "label": 2}], CHOICES, "'label' is 2: give the index of the right choice, 0 to 1"),
    ("a.jsonl", [{"text": "a", "choices": ["b", "c"], "label": "d"}], CHOICES, "or its text"),
    *(("a.jsonl", [{"text": "a", "choices": choices, "label": choices[-1]}], CHOICES, "fits more than one choice: give") for choices in (["b", "b"], ["1", "0", "3", "2"])),
    ("a.jsonl", [{"text": "a", "choices": ["b"], "label": 0}], CHOICES, "give a list of two or more"),
    ("a.jsonl", [{"text": "a", "choices": ["b", ""], "label": 0}], CHOICES, "'choices' is empty"),
    ("a.jsonl", [{"text": "a", "choices": ["b"] * n, "label": 0} for n in (2, 2, 3)], CHOICES, "line 3: 3 choices, most have 2"),
]  # fmt: skip


def test_tables(write):
    for name, content, expected in TABLES:
        table = custom.read_table(write(name, content))
        assert table.names == ["text", "label"]
        found = [(line, list(row.values())) for line, row in table.rows]
        assert found == expected


def test_files_that_cannot_be_used(write, tmp_path):
    for name, content, options, message in WRONG:
        path = write(name, content)
        with pytest.raises(errors.InputError) as caught:
            read(path, **options)
        assert message in str(caught.value) and str(path) in str(caught.value)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(errors.InputError, match="pipe.csv is a named pipe"):
        custom.read_table(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("no.tsv", "folder.csv"):
        with pytest.raises(errors.InputError, match=f"{name} cannot be read"):
            custom.read_table(tmp_path / name)


def test_rows_of_every_family(write):
    for name, content, options, expected in ROWS:
        rows = read(write(name, content), **options)
        found = [(e.text, e.text_pair, e.choices, e.label) for e in rows]
        assert repr(found) == repr(expected)
    rows = read(write("a.csv", "id,text,label\n\n7, a,x\n"))
    assert (rows[0].line, rows[0].given) == (3, {"id": "7", "text": "a"})


# Three files, or a train file of which a part is held out.

MANY = [(f"text {i}", "ab"[i % 4 == 0]) for i in range(100)]


def splits(path, dev_fraction=0.2, seed=1, columns=columns_of(), **options):
    options |= {"dev_fraction": dev_fraction, "seed": seed}
    table = custom.read_table(path)
    found, _ = custom.read_splits(table, columns=columns, **options)
    return found


def test_held_out_rows(write, caplog):
    path = write("train.jsonl", labelled(*MANY))
    train, dev = splits(path).values()
    # 75 rows of "a", 25 of "b": a fifth of each, in the order of the file.
    assert collections.Counter(e.label for e in dev) == {"a": 15, "b": 5}
    both = sorted(train + dev, key=lambda e: int(e.text.split()[1]))
    assert [(e.text, e.label) for e in both] == MANY
    numbers = [int(e.text.split()[1]) for e in dev]
    assert numbers == sorted(numbers)
    assert numbers[:5] == [4, 9, 20, 21, 22]  # Old runs resume.
    again, other = (splits(path, seed=seed)["dev"] for seed in (1, 2))
    assert dev == again != other
    # Scores and choices are held out without strata.
    path = write("s.jsonl", labelled(*((f"t{i}", i / 10) for i in range(10))))
    assert len(splits(path, columns=columns_of(is_score=True))["dev"]) == 2
    row = {"text": "t", "choices": ["x", "y"], "label": 0}
    path = write("c.jsonl", [row | {"text": f"t{i}"} for i in range(5)])
    train, dev = splits(path, columns=columns_of(**CHOICES)).values()
    assert (len(train), len(dev)) == (4, 1) and not caplog.text
    path = write("m.jsonl", labelled(*((f"t{i}", i % 5) for i in range(10))))
    assert len(splits(path)["dev"]) == 5 and "5 of 10 rows" in caplog.text


@hypothesis.settings(max_examples=40)
@hypothesis.given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), min_size=2),
    st.floats(0.01, 0.99),
    st.integers(0, 5),
)
def test_a_text_is_on_one_side_only(tmp_path_factory, pairs, fraction, seed):
    label = dict(pairs)
    forms = itertools.cycle(("{}  x", "{}\tX"))  # the same to the model
    rows = labelled(*((next(forms).format(t), label[t]) for t, _ in pairs))
    folder = tmp_path_factory.getbasetemp()
    path = data_files.write(folder, "given.jsonl", rows)
    num_texts = collections.Counter(map(str, label.values()))
    if len(num_texts) < 2 or min(num_texts.values()) < 2:
        with pytest.raises(errors.InputError):
            splits(path, fraction, seed)
        return
    train, dev = splits(path, fraction, seed).values()
    assert len(train) + len(dev) == len(pairs)
    assert not {e.text[0] for e in train} & {e.text[0] for e in dev}
    for split in (train, dev):
        assert {e.label for e in split} == {"true", "false"}


def test_dev_and_test_files_are_read_beside_train(write):
    train = write("train.jsonl", labelled(*MANY))
    test = write("test.tsv", "text\tlabel\nx\ta\ny\tb\n")
    assert [row.label for row in splits(train, test=test)["test"]] == ["a", "b"]
    for label, message in (
        ("c", "'label' is 'c', which no training row has: add such"),
        ("B ", "which no training row has: write it 'b'"),
        (None, "'label' is empty"),
    ):
        dev = write("dev.jsonl", labelled(("v", "a"), ("w", label)))
        with pytest.raises(errors.InputError, match=f"line 2: .*{message}"):
            splits(train, dev=dev)


MESSY = """\ufeffid,text,label
1,"good, really",positive
2,,positive
3,fine,
4,"so "so",positive
5,bad,n\u00e9gative
6,awful,n\u00e9gative,!
7,great,Positive
8,poor,n\u00e9gative
9,"two
lines",NE\u0301GATIVE
10,nice,positive
11,sad,NE\u0301GATIVE
12,,
"""


def test_all_bad_rows_are_listed_at_once(write, logged):
    path = write("messy.csv", MESSY)
    with pytest.raises(errors.InputError) as caught:
        splits(path)
    assert str(caught.value) == (
        f"{path} line 3: 'text' is empty; 6 of 12 rows cannot be used, listed"
        " above: correct or remove them, or set `bad_rows` to 'skip'"
    )
    title, *lines = logged[0].splitlines()
    assert "6 of 12 rows cannot be used" in title
    assert [" ".join(line.split())[:20] for line in lines] == [
        *("3 'text' is empty", "4 'label' is empty", "5 invalid CSV (',' e"),
        *("7 4 columns, not 3; ", "8 'label' is 'Positi", "14 'text' is empty"),
    ]
    assert lines[4].endswith("write it 'positive'")
    path = write("many.tsv", "text\tlabel\n" + "\tx\n" * 30)
    with pytest.raises(errors.InputError, match="30 of 30 rows"):
        splits(path)
    assert logged[-1].splitlines()[-1].strip() == "and 10 more"


def test_bad_rows_are_skipped_and_written(write, tmp_path, logged):
    skipped = []
    train, dev = splits(write("messy.csv", MESSY), skipped=skipped).values()
    assert sorted(e.line for e in train + dev) == [2, 6, 9, 10, 12, 13]
    assert "skipping 6 of 12 rows; the first is line 3" in logged[0]
    # One composed, the other not.
    assert "'n\u00e9gative' (line 6), 'NE\u0301GATIVE' (line 10)" in logged[1]
    assert custom._plain("1.0") == custom._plain("1") != custom._plain("1.5")
    assert custom._plain("neg\u200b") == custom._plain("\uff2eeg")
    custom.report_skipped(skipped, tmp_path / "new")
    path = tmp_path / "new" / "skipped_rows.tsv"
    assert str(path) in logged[-1]
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [(line, text) for _, line, _, text in rows] == [
        *(("line", "row"), ("3", "2,,positive"), ("4", "3,fine,")),
        *(("5", '4,"so "so",positive'), ("7", "6,awful,n\u00e9gative,!")),
        *(("8", "7,great,Positive"), ("14", "12,,")),
    ]
    custom.report_skipped([], path.parent)  # of a later run
    assert not path.exists()
    path = write("open.csv", 'text,label\na,x\n"b,y\n' + "c,x\n" * 9)
    read(path, skipped=[])
    assert "skipping 1 of 2 rows (10 lines); the first is line 3" in logged[-1]
    with pytest.raises(errors.InputError, match="line 2: 'text' is empty"):
        read(write("bad.csv", "text,label\n,x\n"), skipped=[])


def test_each_warning_comes_once(write, logged):
    rows = labelled(*MANY, ("text 3", "b"), ("rare", "c"))
    may_be_missing = ("w", "NaN"), ("x", "NaN"), ("y", "none"), ("z", "none")
    rows += labelled(*may_be_missing)
    dev = write("dev.jsonl", labelled(("text 5", "a"), ("v", "b")))
    splits(write("train.jsonl", rows), dev=dev)
    repeated, missing, shared = logged
    assert "'NaN', the label of 2 rows (the first is line 103)" in missing
    assert "1 repeated texts, in 2 of 106 rows; 1 of them have con" in repeated
    assert "dictory labels; such as line 4 'a', line 101 'b'" in repeated
    assert "train.jsonl, such as line 1 (there line 6): scores" in shared
    for quoted in ('"a ""b"""\tx', '"a\tx', '"a" "b"\tx', '"a ""b"""\t"x'):
        custom.read_table(write("quoted.tsv", f"text\tlabel\n{quoted}\n"))
    assert "seem to be quoted" in logged[3] and len(logged) == 5
