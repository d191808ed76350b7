import collections
import json
import re

import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import lambada
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering
from gpt1_keras.data.readers import winograd
from gpt1_keras.data.sample_world import benchmark_files
from gpt1_keras.data.sample_world import benchmarks

NUMBERS = {"num_train": 120, "num_dev": 30, "num_test": 20}
READERS = {
    "cola": glue.read_cola,
    "sst2": glue.read_sst2,
    "mrpc": glue.read_mrpc,
    "qqp": glue.read_qqp,
    "stsb": glue.read_stsb,
    "mnli": glue.read_mnli,
    "qnli": glue.read_qnli,
    "rte": glue.read_rte,
    "wnli": glue.read_wnli,
    "snli": nli.read_snli,
    "scitail": nli.read_scitail,
    "race": question_answering.read_race,
    "story_cloze": question_answering.read_story_cloze,
}
# Shares of the most frequent label in the official training files, with room
# for chance in 120 examples.
MOST_OF_ONE_LABEL = {"cola": 0.75, "mrpc": 0.8, "qqp": 0.75, "snli": 0.5}
UNLABELLED_TESTS = (
    "cola sst2 mrpc qqp stsb mnli qnli rte wnli".split()  # GLUE's
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "data"
    benchmarks.write_benchmarks(path, **NUMBERS)
    return path


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", READERS)
def test_every_row_is_read_back_and_stands_in_one_split(name, folder):
    parts = {
        split: READERS[name](folder, split)
        for split in ("train", "dev", "test")
    }
    found = {split: len(part) for split, part in parts.items()}
    twice = 2 if name == "mnli" else 1
    assert found == {"train": 120, "dev": 30 * twice, "test": 20 * twice}
    keys = [
        (*sorted((e.text, e.text_pair)), *sorted(e.choices))
        for part in parts.values()
        for e in part
    ]
    assert len(set(keys)) == len(keys)
    labels = collections.Counter(e.label for e in parts["train"])
    most = MOST_OF_ONE_LABEL.get(name, 0.65)
    assert max(labels.values()) <= most * 120
    assert None not in labels and len(labels) >= 2
    unlabelled = all(e.label is None for e in parts["test"])
    assert unlabelled == (name in UNLABELLED_TESTS)
    for part in parts.values():
        for e in part:
            assert e.text[0].isupper() or e.text[0] == '"', e
            assert not re.search(r"[{}<>|\[\]]|  | [.,]", e.text), e


def test_groups_of_mnli_and_race(folder):
    groups = collections.Counter(e.group for e in glue.read_mnli(folder, "dev"))
    assert groups == {"matched": 30, "mismatched": 30}
    groups = collections.Counter(
        e.group for e in question_answering.read_race(folder, "train")
    )
    assert groups == {"middle": 60, "high": 60}


def test_diagnostic_and_pronoun_files(folder):
    assert len(glue.read_ax(folder, "test")) == 20
    text = (folder / "dpr/test.c.txt").read_text()
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    assert len(blocks) == 20
    for sentence, pronoun, candidates, right in blocks:
        assert f" {pronoun} " in sentence
        assert right in candidates.split(",")
        assert all(name in sentence for name in candidates.split(","))


def test_files_of_the_other_probes(folder):
    found = {
        "wsc": winograd.read_wsc(folder, "test"),
        "pdp": winograd.read_pdp(folder, "test"),
        "lambada": lambada.read(folder, "test"),
        "lambada dev": lambada.read(folder, "dev"),
    }
    assert {name: len(rows) for name, rows in found.items()} == {
        **{"wsc": 20, "pdp": 20, "lambada": 20},
        "lambada dev": 30,
    }
    for name in ("wsc", "pdp"):
        for e in found[name]:
            assert "because [MASK] " in e.text and len(e.choices) == 2, e
            assert e.text_pair in (("",) if name == "pdp" else ("he", "she"))
        assert 3 < sum(e.label for e in found[name]) < 17
    texts = [
        {e.text for e in found[name]} for name in ("lambada", "lambada dev")
    ]
    assert not texts[0] & texts[1]
    (folder / "winograd/WSCollection.xml").rename(folder / "aside")
    try:
        assert winograd.read_wsc(folder, "test") == found["wsc"]
    finally:
        (folder / "aside").rename(folder / "winograd/WSCollection.xml")


def test_texts_are_short(folder):
    for name in ("cola", "sst2"):
        for e in READERS[name](folder, "train"):
            assert len(e.text.split()) <= 20, e
    for e in question_answering.read_race(folder, "train"):
        assert 80 <= len(e.text.split()) <= 150, e
        assert len(set(e.choices)) == 4, e


def test_the_seed_decides_everything(folder, tmp_path):
    benchmarks.write_benchmarks(tmp_path / "again", **NUMBERS)
    assert contents(tmp_path / "again") == contents(folder)
    benchmarks.write_benchmarks(tmp_path / "other", **NUMBERS, seed=1)
    other = contents(tmp_path / "other")
    same = [n for n, text in contents(folder).items() if other.get(n) == text]
    assert not same


def test_written_once(folder):
    before = [path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))]
    benchmarks.write_benchmarks(folder, **NUMBERS)
    after = [path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))]
    assert before == after
    manifest = json.loads((folder / benchmarks.MANIFEST).read_text())
    files = set(contents(folder)) - {benchmarks.MANIFEST}
    assert set(manifest.pop("files")) == files
    assert manifest.pop("generator") == benchmarks.source_sha256()
    assert manifest == {**NUMBERS, "seed": 0}
    with pytest.raises(errors.InputError, match="num_train 120"):
        benchmarks.write_benchmarks(folder, **{**NUMBERS, "num_train": 121})


def test_too_few_and_too_many_are_refused(tmp_path, monkeypatch):
    with pytest.raises(errors.InputError, match="1 dev examples"):
        benchmarks.write_benchmarks(
            tmp_path / "a", num_train=9, num_dev=1, num_test=9
        )
    same = examples.Example("The same.", label="1")
    monkeypatch.setattr(
        benchmarks,
        "_BENCHMARKS",
        [(benchmark_files.cola, benchmarks._three(lambda _: [same]))],
    )
    with pytest.raises(errors.InputError, match="no more than"):
        benchmarks.write_benchmarks(tmp_path / "b", **NUMBERS)
    assert list(tmp_path.iterdir()) == []
