import collections
import json

import pytest
from absl import logging
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import custom

WORDS = custom.Columns(text="text", label="label")
SCORES = custom.Columns(text="text", label="label", is_score=True)
CHOICES = custom.Columns(text="text", label="label", choices="choices")


def files(*, columns=WORDS, dev_fraction=0.2, seed=1, **paths):
    return custom.CustomFiles(
        columns=columns, dev_fraction=dev_fraction, seed=seed, **paths
    )


def write(path, pairs):
    path.write_text(
        "".join(json.dumps({"text": t, "label": w}) + "\n" for t, w in pairs)
    )


@pytest.fixture
def warnings(monkeypatch):
    """Lines that were logged as warnings."""
    lines = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *values: lines.append(text % values)
    )
    return lines


MANY = [(f"text {i}", "ab"[i % 4 == 0]) for i in range(100)]
OTHERS = [(f"other {text}", label) for text, label in MANY]


def test_splits_of_three_files(tmp_path, warnings):
    write(tmp_path / "train.jsonl", MANY)
    write(tmp_path / "dev.jsonl", [("u", "b"), ("v", "a")] + OTHERS)
    (tmp_path / "test.tsv").write_text("text\nw\n")
    mine = files(train="train.jsonl", dev="dev.jsonl", test="test.tsv")
    train = mine.read(tmp_path, "train")
    assert [(e.text, e.label) for e in train] == MANY
    assert mine.read(tmp_path, "dev")[:2] == [
        examples.Example("u", label="b"),
        examples.Example("v", label="a"),
    ]
    assert mine.read(tmp_path, "test") == [examples.Example("w")]
    assert mine.words(tmp_path) == ("a", "b")
    assert warnings == []


def test_relative_to_the_current_folder(tmp_path, monkeypatch):
    write(tmp_path / "train.jsonl", MANY)
    monkeypatch.chdir(tmp_path)
    assert files(train="train.jsonl").words(None) == ("a", "b")
    absolute = files(train=str(tmp_path / "train.jsonl"))
    assert absolute.words("elsewhere") == ("a", "b")


def test_held_out_rows_are_stratified(tmp_path):
    write(tmp_path / "train.jsonl", MANY)
    mine = files(train="train.jsonl")
    train, dev = (mine.read(tmp_path, split) for split in ("train", "dev"))
    # 75 rows of "a", 25 of "b": a fifth of each.
    assert collections.Counter(e.label for e in dev) == {"a": 15, "b": 5}
    both = sorted(train + dev, key=lambda e: int(e.text.split()[1]))
    assert [(e.text, e.label) for e in both] == MANY
    numbers = [int(e.text.split()[1]) for e in dev]
    assert numbers == sorted(numbers)


def test_held_out_rows_depend_on_the_seed_alone(tmp_path):
    write(tmp_path / "train.jsonl", MANY)
    first, again, other = (
        files(train="train.jsonl", seed=seed).read(tmp_path, "dev")
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), min_size=2),
    st.floats(0.01, 0.99),
    st.integers(0, 5),
)
def test_a_text_is_on_one_side_only(tmp_path_factory, pairs, fraction, seed):
    path = tmp_path_factory.getbasetemp() / "given.jsonl"
    label = dict(pairs)
    pairs = [(text, label[text]) for text, _ in pairs]
    write(path, pairs)
    mine = files(train=path, dev_fraction=fraction, seed=seed)
    num_texts = collections.Counter(map(str, label.values()))
    if len(num_texts) < 2 or min(num_texts.values()) < 2:
        with pytest.raises(errors.InputError):
            mine.read(None, "dev")
        return
    train, dev = mine.read(None, "train"), mine.read(None, "dev")
    assert len(train) + len(dev) == len(pairs)
    assert not {e.text for e in train} & {e.text for e in dev}
    for split in (train, dev):
        assert {e.label for e in split} == {"true", "false"}


def test_scores_and_choices_are_held_out_too(tmp_path):
    write(tmp_path / "s.jsonl", [(f"t{i}", i / 10) for i in range(10)])
    mine = files(train="s.jsonl", columns=SCORES)
    assert len(mine.read(tmp_path, "dev")) == 2
    assert mine.score_range(tmp_path) == (0.0, 0.9)
    rows = [
        {"text": f"t{i}", "choices": ["x", "y"], "label": 1} for i in range(5)
    ]
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    mine = files(train=path, columns=CHOICES)
    assert len(mine.read(None, "dev")) == 1
    assert len(mine.read(None, "train")) == 4


def test_each_warning_comes_once(tmp_path, warnings):
    write(tmp_path / "train.jsonl", MANY + [("text 3", "b"), ("rare", "c")])
    write(tmp_path / "dev.jsonl", [("text 5", "a"), ("v", "b")])
    mine = files(train="train.jsonl", dev="dev.jsonl")
    for _ in range(2):
        for split in ("dev", "train"):
            mine.read(tmp_path, split)
    repeated, contradicting, imbalance, overlap, few = warnings
    assert "repeated texts: 1" in repeated
    assert "line 4 'a', line 101 'b'" in contradicting
    assert "'c' 1 rows (line 102 is the first of 'c')" in imbalance
    assert "train.jsonl too: 1 of 2" in overlap and "its line 6" in overlap
    assert "dev.jsonl: only 2 rows are for dev" in few


def test_few_rows_held_out_are_warned_of_once(tmp_path, warnings):
    write(tmp_path / "train.jsonl", MANY)
    mine = files(train="train.jsonl")
    for split in ("dev", "train", "dev"):
        mine.read(tmp_path, split)
    (few,) = warnings
    assert "train.jsonl: only 20 rows are for dev" in few


@pytest.mark.parametrize(
    "train, dev, columns, message",
    [
        ([("a", "x"), ("b", "x")], None, WORDS, "only the class 'x'"),
        ([("a", 1.5), ("b", 1.5)], None, SCORES, "scores from 1.5 to 1.5"),
        ([("a", "x"), ("b", "y")], [("c", "z")], WORDS, "dev.jsonl line 1 has label 'z', which no training row has"),
        ([("a", 1), ("b", 2)], [("c", 2), ("d", 2.5)], SCORES, "dev.jsonl line 2 has score 2.5, outside 1.0 to 2.0"),
        ([("a", "x"), ("b", "x"), ("c", "y")], None, WORDS, "one text of class 'y' (line 3)"),
        ([("a", "x"), ("b", "x"), ("c", "y"), ("c", "y")], None, WORDS, "one text of class 'y' (line 3)"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, train, dev, columns, message):
    write(tmp_path / "train.jsonl", train)
    if dev:
        write(tmp_path / "dev.jsonl", dev)
    mine = files(train="train.jsonl", dev=dev and "dev.jsonl", columns=columns)
    for _ in range(2):
        with pytest.raises(errors.InputError) as caught:
            mine.read(tmp_path, "dev")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_files_with_other_numbers_of_choices(tmp_path):
    for name, choices in (("train", ["x", "y"]), ("dev", ["x", "y", "z"])):
        row = {"text": "t", "choices": choices, "label": 0}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
    mine = files(train="train.jsonl", dev="dev.jsonl", columns=CHOICES)
    with pytest.raises(errors.InputError, match="has 3 choices a row"):
        mine.read(tmp_path, "dev")


def test_given_score_range(tmp_path):
    write(tmp_path / "train.jsonl", [("a", 1.5), ("b", 4)])
    mine = files(train="train.jsonl", columns=SCORES, low=0, high=5)
    assert mine.score_range(tmp_path) == (0, 5)
    mine = files(train="train.jsonl", columns=SCORES, low=2, high=5)
    with pytest.raises(errors.InputError, match="line 1 has score 1.5"):
        mine.read(tmp_path, "train")


def test_wrong_arguments(tmp_path):
    write(tmp_path / "train.jsonl", MANY)
    mine = files(train="train.jsonl")
    with pytest.raises(errors.InputError, match="set TEST_FILE"):
        mine.read(tmp_path, "test")
    with pytest.raises(errors.InputError, match="split 'valid' is unknown"):
        mine.read(tmp_path, "valid")
    for fraction in (0, 1, -1):
        with pytest.raises(errors.InputError, match="DEV_FRACTION"):
            files(train="train.jsonl", dev_fraction=fraction)
