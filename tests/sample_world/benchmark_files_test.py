"""The official readers read the files, whose split of rows is as asked."""

import collections
import re

import pytest

from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import zero_shot as readers
from gpt1_keras.tasks import benchmarks


@pytest.mark.parametrize("name", sorted(benchmarks.BENCHMARKS.keys() - {"ax"}))
def test_every_row_is_read_and_stands_in_one_split(name, folder):
    task = benchmarks.benchmark(name)
    read = task.reader
    parts = {split: read(folder, split) for split in ("train", "dev", "test")}
    twice = 2 if name == "mnli" else 1
    sizes = {split: len(part) for split, part in parts.items()}
    expected = {"train": 120, "dev": 24 * twice, "test": 12 * twice}
    if name == "story_cloze":
        # The reader divides one file, by the official shares.
        expected = {"train": 115, "dev": 29, "test": 12}
    assert sizes == expected
    keys = [
        (*sorted((e.text, e.text_pair)), *sorted(e.choices))
        for part in parts.values()
        for e in part
    ]
    assert len(set(keys)) == len(keys)
    labels = collections.Counter(e.label for e in parts["train"])
    assert None not in labels and max(labels.values()) < 0.75 * 120
    for e in parts["train"] if name == "stsb" else ():
        names = (set(re.findall(r"[A-Z]\w+", t)) for t in (e.text, e.text_pair))
        # Two stories about the same people.
        assert e.label != 0.8 or not set.isdisjoint(*names)
    unlabelled = {e.label is None for e in parts["test"]}
    assert unlabelled == {hasattr(glue, f"read_{name}")}


def test_zero_shot_files(folder):
    assert len(glue.read_ax(folder, "test")) == 12
    assert len(readers.read_dprd(folder, "train")) == 120
    for name in ("dprd", "wsc", "pdp"):
        part = getattr(readers, f"read_{name}")(folder, "test")
        assert len(part) == 12
        for e in part:
            assert "because [MASK] " in e.text and len(e.choices) == 2
            assert e.text_pair in (("",) if name == "pdp" else ("he", "she"))
    for split, size in (("dev", 24), ("test", 12)):
        part = readers.read_lambada(folder, split)
        assert len(part) == size
        assert all(e.text == e.text.lower() for e in part)
