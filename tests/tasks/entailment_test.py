import json

import pytest

from gpt1_keras.data import transforms
from gpt1_keras.layers import heads
from gpt1_keras.tasks import benchmarks

THREE = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
PAIR = ("index", "sentence1", "sentence2")


def tsv(*rows):
    return "".join("\t".join(row) + "\n" for row in rows)


def jsonl(*rows):
    keys = ("gold_label", "sentence1", "sentence2")
    return "".join(json.dumps(dict(zip(keys, row))) + "\n" for row in rows)


@pytest.mark.parametrize(
    "name, words, file, content",
    [
        (
            "snli",
            THREE,
            "snli/snli_1.0_dev.jsonl",
            jsonl(("neutral", "P.", "H.")),
        ),
        (
            "mnli",
            THREE,
            "glue/MNLI/dev_matched.tsv",
            tsv((*PAIR, "gold_label"), ("0", "P.", "H.", "neutral")),
        ),
        (
            "qnli",
            TWO,
            "glue/QNLI/dev.tsv",
            tsv(
                ("index", "question", "sentence", "label"),
                ("0", "P.", "H.", "not_entailment"),
            ),
        ),
        (
            "rte",
            TWO,
            "glue/RTE/dev.tsv",
            tsv((*PAIR, "label"), ("0", "P.", "H.", "not_entailment")),
        ),
        (
            "scitail",
            ("entails", "neutral"),
            "scitail/tsv_format/scitail_1.0_dev.tsv",
            tsv(("P.", "H.", "neutral")),
        ),
        (
            "wnli",
            ("0", "1"),
            "glue/WNLI/dev.tsv",
            tsv((*PAIR, "label"), ("0", "P.", "H.", "1")),
        ),
    ],
)
def test_from_file_to_metrics(tmp_path, name, words, file, content):
    found = getattr(benchmarks, name)()
    assert found.name == name
    assert found.transform is transforms.entailment
    assert found.build_head is heads.SumHead
    assert found.target.words == words and found.target.num_outputs == len(
        words
    )

    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(content)
    (row,) = found.read(tmp_path, "dev")
    assert (row.text, row.text_pair) == ("P.", "H.")
    # In each of these files the label is the second of the words.
    assert found.measure([row], [1]) == {"accuracy": 1.0}


def test_ax_has_the_classes_of_mnli(tmp_path):
    found = benchmarks.ax()
    assert found.target.words == benchmarks.mnli().target.words == THREE
    assert found.transform is transforms.entailment
    path = tmp_path / "glue/diagnostic/diagnostic.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(tsv(PAIR, ("0", "P.", "H.")))
    (row,) = found.read(tmp_path, "test")
    assert (row.text, row.text_pair, row.label) == ("P.", "H.", None)
