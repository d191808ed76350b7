"""Examples written by hand, seen through the readers of official files."""

import pytest

from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering
from gpt1_keras.data.sample_world import benchmark_files

ONE, TWO = 'She said: "It\'s mine, not yours."', "A dog ran, then slept."


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def pairs(*labels):
    return [
        examples.Example(f"{number}. {ONE}", TWO, label=label)
        for number, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("name", "read", "labels"),
    [
        ("cola", glue.read_cola, "01"),
        ("sst2", glue.read_sst2, "10"),
        ("mrpc", glue.read_mrpc, "10"),
        ("qqp", glue.read_qqp, "01"),
        ("stsb", glue.read_stsb, (3.6, 0.0)),
        ("qnli", glue.read_qnli, ("not_entailment", "entailment")),
        ("rte", glue.read_rte, ("entailment", "not_entailment")),
        ("wnli", glue.read_wnli, "11"),
        ("snli", nli.read_snli, ("neutral", "contradiction")),
        ("scitail", nli.read_scitail, ("entails", "neutral")),
    ],
)
def test_sentences_and_pairs(name, read, labels, tmp_path):
    is_single = name in ("cola", "sst2")
    parts = {
        split: [
            examples.Example(e.text, "" if is_single else TWO, label=e.label)
            for e in pairs(*labels)
        ]
        for split in ("train", "dev", "test")
    }
    write(tmp_path, getattr(benchmark_files, name)(parts))
    assert read(tmp_path, "train") == parts["train"]
    assert read(tmp_path, "dev") == parts["dev"]
    found = read(tmp_path, "test")
    assert [e.text for e in found] == [e.text for e in parts["test"]]
    if name not in ("snli", "scitail"):
        assert [e.label for e in found] == [None, None]


def test_mnli_and_its_widths(tmp_path):
    parts = {
        "train": pairs("neutral"),
        "dev_matched": pairs("contradiction"),
        "dev_mismatched": pairs("entailment"),
        "test_matched": pairs("entailment"),
        "test_mismatched": pairs("entailment"),
    }
    written = benchmark_files.mnli(parts)
    widths = {
        name.split("/")[-1]: {
            line.count("\t") + 1 for line in text.splitlines()
        }
        for name, text in written.items()
    }
    assert widths == {
        "train.tsv": {12},
        "dev_matched.tsv": {16},
        "dev_mismatched.tsv": {16},
        "test_matched.tsv": {10},
        "test_mismatched.tsv": {10},
    }
    write(tmp_path, written)
    assert [e.label for e in glue.read_mnli(tmp_path, "train")] == ["neutral"]
    dev = glue.read_mnli(tmp_path, "dev")
    assert [(e.group, e.label) for e in dev] == [
        ("matched", "contradiction"),
        ("mismatched", "entailment"),
    ]


def test_diagnostic(tmp_path):
    write(tmp_path, benchmark_files.diagnostic({"test": pairs("neutral")}))
    assert [e.text_pair for e in glue.read_ax(tmp_path, "test")] == [TWO]


def test_questions_about_one_passage_share_its_file(tmp_path):
    asked = [
        examples.Example(article, question, tuple("wxyz"), label, group)
        for article, question, label, group in [
            (ONE, "Who?", 3, "middle"),
            (ONE, "What?", 0, "middle"),
            (TWO, "Why?", 1, "high"),
        ]
    ]
    written = benchmark_files.race({"dev": asked})
    assert len(written) == 2
    write(tmp_path, written)
    assert question_answering.read_race(tmp_path, "dev") == asked


def test_story_cloze(tmp_path):
    stories = [
        examples.Example(
            f'One {number}.\nTwo, "two".\nThree.\nFour.',
            choices=("Right.", "Wrong, quite."),
            label=number % 2,
        )
        for number in range(10)
    ]
    write(
        tmp_path,
        benchmark_files.story_cloze({"val": stories, "test": stories[:3]}),
    )
    assert question_answering.read_story_cloze(tmp_path, "test") == [
        examples.Example(e.text.replace("\n", " "), "", e.choices, e.label)
        for e in stories[:3]
    ]
    train = question_answering.read_story_cloze(tmp_path, "train")
    dev = question_answering.read_story_cloze(tmp_path, "dev")
    assert (len(train), len(dev)) == (8, 2)
