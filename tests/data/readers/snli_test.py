import collections
import json

import pytest
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import nli

PAIR = {
    "annotator_labels": ["neutral", "entailment"],
    "gold_label": "neutral",
    "sentence1": 'A "man" outdoors. ',
    "sentence1_parse": "(ROOT ...)",
    "sentence2": "A man alone.",
}
EXPECTED = examples.Example(
    'A "man" outdoors.', "A man alone.", label="neutral"
)


def write(folder, *rows, place="snli/snli_1.0_dev.jsonl"):
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("folder", ["snli", "snli/snli_1.0", "snli_1.0"])
def test_official_format(tmp_path, folder):
    write(tmp_path, PAIR, place=f"{folder}/snli_1.0_dev.jsonl")
    assert nli.read_snli(tmp_path, "dev") == [EXPECTED]


def test_pairs_without_gold_label_are_dropped_and_counted(
    tmp_path, monkeypatch
):
    shown = []
    monkeypatch.setattr(
        logging, "info", lambda text, *v: shown.append(text % v)
    )
    undecided = PAIR | {"gold_label": "-"}
    path = write(tmp_path, undecided, PAIR, undecided, undecided)
    assert nli.read_snli(tmp_path, "dev") == [EXPECTED]
    assert shown == [f"{path}: 3 rows without a gold label"]


@pytest.mark.parametrize(
    "change, reason",
    [
        (
            {"gold_label": "maybe"},
            "label 'maybe' is none of entailment, neutral, contradiction",
        ),
        ({"gold_label": None}, "label None is none of entailment"),
        ({"gold_label": ["neutral"]}, r"label \['neutral'\] is none of"),
        ({"sentence1": " "}, "sentence1 is empty"),
        ({"sentence2": 7}, "sentence2 is no text"),
    ],
)
def test_bad_rows(tmp_path, change, reason):
    path = write(tmp_path, PAIR, PAIR | change)
    assert nli.read_snli(tmp_path, "dev") == [EXPECTED]
    write(tmp_path, PAIR, PAIR | change, PAIR | change)
    with pytest.raises(
        errors.InputError, match=f"^{path} line 2: {reason}.*2 of 3 rows"
    ):
        nli.read_snli(tmp_path, "dev")


def test_missing(tmp_path):
    with pytest.raises(
        errors.InputError, match="snli/snli_1.0_test.jsonl does not exist"
    ):
        nli.read_snli(tmp_path, "test")
    with pytest.raises(errors.InputError, match="split 'val' is none of"):
        nli.read_snli(tmp_path, "val")


@pytest.mark.needs_data
def test_real_file(shared_file, monkeypatch):
    monkeypatch.setattr(logging, "warning", lambda *_: pytest.fail("warned"))
    folder = shared_file("data/snli/snli_1.0_dev.jsonl").parents[1]
    labels = collections.Counter(e.label for e in nli.read_snli(folder, "dev"))
    # Counted with grep -c.
    assert labels == {
        "entailment": 3329,
        "contradiction": 3278,
        "neutral": 3235,
    }
