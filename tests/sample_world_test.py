import collections
import errno
import re

import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import zero_shot as readers
from gpt1_keras.sample_world import benchmarks
from gpt1_keras.sample_world import corpus
from gpt1_keras.sample_world import draws
from gpt1_keras.sample_world import generated_folder
from gpt1_keras.sample_world import world
from gpt1_keras.tasks import benchmarks as tasks
from tests.reference import data_files
from tests.reference import processes

SIZES = {"num_train": 120, "num_dev": 24, "num_test": 12}


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "books"
    paths = corpus.write_corpus(folder, words=40_000, seed=3)
    return [path.read_text(encoding="utf-8") for path in paths]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "data"
    benchmarks.write_benchmarks(folder, **SIZES)
    return folder


def test_size_and_shape_of_the_books(books):
    assert len(books) == corpus.MIN_BOOKS
    assert 40_000 <= sum(len(text.split()) for text in books) <= 48_000
    for text in books:
        assert text.isascii() and text.endswith("The End\n\n")
        assert all(line == "" for line in text.split("\n")[1::2])
        assert not re.search(r"[][{}<>|]|  | [.,]|\ban? an? ", text)


def test_the_same_bytes_in_every_process_and_version(folder, tmp_path):
    made = draws.Draws("book", 0, 1)
    assert [made.below(100) for _ in range(5)] == [79, 78, 28, 32, 6]
    program = (
        "import sys; from gpt1_keras.sample_world import corpus\n"
        "sys.stdout.writelines(corpus.Book(1, 2, words=3000).paragraphs())"
    )
    expected = "".join(corpus.Book(1, 2, words=3000).paragraphs())
    for hash_seed in ("1", "2"):
        done = processes.python("-c", program, PYTHONHASHSEED=hash_seed)
        assert done.stdout == expected, done.stderr
    assert expected != "".join(corpus.Book(2, 2, words=3000).paragraphs())
    benchmarks.write_benchmarks(tmp_path, **SIZES)
    assert data_files.contents(tmp_path) == data_files.contents(folder)


def test_facts_come_back(books):
    text = " ".join(" ".join(books).split())
    people = world.build_world(3, 0).people
    named = collections.Counter(re.findall(r"\w+", text))
    assert sum(named[person.first] > 40 for person in people) > 20
    told = 0
    for name, relation in (("great fear", "fear"), ("dearest wish", "wish")):
        for person in people:
            claim = f"{person.first}'s {name} is "
            right = text.count(f"{claim}{person.traits[relation]}")
            assert text.count(claim) == right
            told += right
    assert told > 5


@pytest.mark.parametrize("name", sorted(tasks.BENCHMARKS.keys() - {"ax"}))
def test_the_official_reader_reads_every_row_in_one_split(name, folder):
    read = tasks.benchmark(name).reader
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


def test_a_full_disk_is_named(tmp_path):
    def write(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=f"{tmp_path}/new"):
        generated_folder.write_once(
            tmp_path / "new", write, settings={}, manifest="m.json"
        )
    assert not list(tmp_path.glob("[!.]*"))  # but for the lock


def test_too_few_and_too_many_are_refused(tmp_path, monkeypatch):
    with pytest.raises(errors.InputError, match="1 dev examples"):
        benchmarks.write_benchmarks(tmp_path / "a", **SIZES | {"num_dev": 1})
    assert list(tmp_path.iterdir()) == []
    same = examples.Example("The same.", label="1")
    monkeypatch.setattr(benchmarks, "_MOST_VAIN_DRAWS", 5)
    with pytest.raises(errors.InputError, match="1 different examples of cola"):
        benchmarks.Source(0, "cola").take(lambda _: [same], 2)
