import json

import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import custom


@pytest.fixture
def read(tmp_path):
    """Write rows as JSONL (or a text as TSV) and read them."""

    def read(content, *, is_labelled=True, **columns):
        if isinstance(content, str):
            path = tmp_path / "my.tsv"
            path.write_text(content, "utf-8")
        else:
            path = tmp_path / "my.jsonl"
            path.write_text("".join(json.dumps(r) + "\n" for r in content))
        columns = {"text": "text", "label": "label"} | columns
        return custom.read_rows(
            path, custom.Columns(**columns), is_labelled=is_labelled
        )

    return read


def test_pairs_with_other_names(read):
    rows = read(
        "id\tq\ta\tgold\n7\t Why? \tSo.\tyes\n8\tHow?\tThus.\tno \n",
        text="q",
        text_pair="a",
        label="gold",
    )
    assert rows == [
        (2, examples.Example("Why?", "So.", (), "yes")),
        (3, examples.Example("How?", "Thus.", (), "no")),
    ]


@pytest.mark.parametrize(
    "label, expected",
    [
        ("good", "good"),
        (" a b ", "a b"),
        (1, "1"),
        (True, "true"),
        (0.5, "0.5"),
    ],
)
def test_words(read, label, expected):
    (row,) = read([{"text": "a", "label": label}])
    assert row.example.label == expected


@pytest.mark.parametrize(
    "label, expected", [("3.25", 3.25), (2, 2.0), ("-1e1", -10.0)]
)
def test_scores(read, label, expected):
    (row,) = read([{"text": "a", "label": label}], is_score=True)
    assert row.example.label == expected
    assert isinstance(row.example.label, float)


@pytest.mark.parametrize(
    "choices, label, expected",
    [
        (["red", "blue"], 1, 1),
        (["red", "blue"], "0", 0),
        (["red", "blue"], "blue", 1),
        (["red", " blue "], "blue ", 1),
        # A number is an index, whatever the choices are.
        (["1", "0", "2"], "1", 1),
        (["1", "0", "2"], 2, 2),
        (["1.5", "2.5"], 2.5, 1),
    ],
)
def test_right_choice(read, choices, label, expected):
    (row,) = read(
        [{"text": "a", "choices": choices, "label": label}], choices="choices"
    )
    assert row.example.label == expected
    assert row.example.choices == tuple(c.strip() for c in choices)


def test_choices_from_several_columns(read):
    rows = read(
        "text\tA\tB\tC\tlabel\nx\tu\tv\tw\t2\ny\tr\ts\tt\tr\n",
        choices=("A", "B", "C"),
    )
    assert [row.example for row in rows] == [
        examples.Example("x", "", ("u", "v", "w"), 2),
        examples.Example("y", "", ("r", "s", "t"), 0),
    ]


def test_rows_without_labels(read):
    rows = read("text\na\nb\n", is_labelled=False)
    assert [row.example.label for row in rows] == [None, None]
    rows = read(
        [{"text": "a", "label": None}, {"text": "b", "label": "x"}],
        is_labelled=False,
    )
    assert [row.example.label for row in rows] == [None, "x"]


CHOICES = {"text": "a", "choices": ["u", "v"]}


@pytest.mark.parametrize(
    "content, columns, message",
    [
        (
            "sentence\tlabel\na\t1\n",
            {},
            "no column 'text' but 'sentence', 'label': rename the column or set TEXT_COLUMN",
        ),
        ("text\tlabel\na\t1\n", {"text_pair": "b"}, "set PAIR_COLUMN"),
        ("text\tlabel\na\t1\n", {"choices": ("b", "c")}, "set CHOICES_COLUMNS"),
        ("text\ta\n", {}, "has no rows"),
        ("text\ta\nb\tc\n", {}, "set LABEL_COLUMN"),
        (
            "text\tchoices\tlabel\na\tb\t0\n",
            {"choices": "choices"},
            "one column of choices",
        ),
        ("text\tlabel\na\t1\nb\t \n", {}, "line 3: 'label' is empty"),
        ("text\tlabel\na\t1\n \t1\n", {}, "line 3: 'text' is empty"),
        (
            [{"text": "a", "label": 1}, {"label": 1}],
            {},
            "line 2: 'text' is no text",
        ),
        ([{"text": 5, "label": 1}], {}, "line 1: 'text' is no text"),
        ([{"text": "\ud800", "label": 1}], {}, "half a character"),
        ([{"text": "a", "label": [1]}], {}, "'label' is no text"),
        (
            "text\tlabel\na\t1.5\nb\thigh\n",
            {"is_score": True},
            "line 3: label 'high' is not a number",
        ),
        ("text\tlabel\na\tnan\n", {"is_score": True}, "is not a number"),
        ([{"text": "a", "label": True}], {"is_score": True}, "is not a number"),
        (
            [CHOICES | {"label": 2}],
            {"choices": "choices"},
            "label 2 for 2 choices: give the index of the right one, 0 to 1",
        ),
        ([CHOICES | {"label": -1}], {"choices": "choices"}, "label -1 for 2"),
        (
            [CHOICES | {"label": "w"}],
            {"choices": "choices"},
            "is none of the choices",
        ),
        (
            [{"text": "a", "choices": ["u", "u"], "label": "u"}],
            {"choices": "choices"},
            "is several of the choices",
        ),
        (
            [{"text": "a", "choices": ["u"], "label": 0}],
            {"choices": "choices"},
            "line 1: 1 choices",
        ),
        (
            [{"text": "a", "choices": ["u", ""], "label": 0}],
            {"choices": "choices"},
            "'choices' is empty",
        ),
        (
            [{"text": "a", "choices": "u", "label": 0}],
            {"choices": "choices"},
            "'choices' is not a list but 'u'",
        ),
        (
            [
                CHOICES | {"label": 0},
                {"text": "b", "choices": ["u", "v", "w"], "label": 0},
            ],
            {"choices": "choices"},
            "line 2 has 3 choices, line 1 has 2",
        ),
    ],
)
def test_mistakes_are_named(read, content, columns, message):
    with pytest.raises(errors.InputError) as caught:
        read(content, **columns)
    assert message in str(caught.value)
    assert "my." in str(caught.value) and "\n" not in str(caught.value)
