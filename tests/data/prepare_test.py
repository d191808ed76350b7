import json
import os

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.data import shards
from gpt1_keras.data import split as split_lib
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import data_files
from tests.reference import letter_tokenizer

LETTERS = list("abcdefghijklmnopqrstuvwxyz")
pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def folder(tmp_path):
    """Twelve books of 5 to 38 paragraphs, a line each, all random."""
    folder = tmp_path / "books"
    for number in range(12):
        generator = np.random.default_rng(number)
        letters = generator.choice(LETTERS, (5 + 3 * number, 30, 4))
        lines = [" ".join(map("".join, words)) + "." for words in letters]
        data_files.write(folder, f"book_{number:02d}.txt", "\n".join(lines))
    return folder


def prepare_letters(
    folder, directory, *, distribute=encode.in_processes, **recipe
):
    tokenizer = letter_tokenizer.LetterTokenizer()
    recipe = {"held_out_fraction": 0.1, "tokenizer": tokenizer} | recipe
    return prepare.prepare(
        *([folder], directory, prepare.Recipe(**recipe)),
        **{"shard_tokens": 1000, "piece_bytes": 1000},
        distribute=distribute,
    )


def tokens_of(prepared):
    found = {}
    for name in ("train", "held_out"):
        part = prepared.split(name)
        for book, length in enumerate(part.lengths):
            found[part.names[book]] = part.read(book, 0, length).tolist()
    return found


def test_every_book_is_in_the_shards(folder, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(books, "_BLOCK_BYTES", 400)  # several pieces a book
    prepared = prepare_letters(folder, tmp_path / "out")
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    expected = {n: [ord(c) for c in t if c != " "] for n, t in texts.items()}
    assert tokens_of(prepared) == expected
    assert len(prepared.index["shards"]) > 3
    for book in prepared.index["books"]:
        assert book["bytes"] == len(texts[book["name"]].encode()) + 1
        assert book["words"] == len(texts[book["name"]].split())
        assert (book.get("overlap", 1) < 0.05) == (book["split"] == "held_out")
    total = prepared.index["total"]
    assert total["tokens"] == sum(map(len, expected.values()))
    assert total["tokens"] == total["train_tokens"] + total["held_out_tokens"]
    assert (total["books"], total["held_out_books"]) == (12, 1)
    for name, text in texts.items():
        data_files.write(folder, f"copy_of_{name}", text)
    prepare_letters(folder, tmp_path / "twice")
    for expected in ("is held out: 100 % of it", "is not held out: 100 % of"):
        assert expected in caplog.text
    # Unless they are named.
    named = {"held_out_books": ("book_00.txt", "book_07.txt")}
    found = prepare_letters(folder, tmp_path / "named", **named)
    assert tuple(found.split("held_out").names) == named["held_out_books"]


def test_index_and_bytes_by_hand(tmp_path):
    files = {}
    for name, text in {"a": "abc de\nf\n", "b": "gh\n", "c": "ééé\n"}.items():
        files[name] = tmp_path / name
        files[name].write_text(text)
    recipe = prepare.Recipe(letter_tokenizer.LetterTokenizer())
    out = tmp_path / "out"
    prepare.prepare(files, out, recipe, shard_tokens=4)
    index = json.loads((out / "index.json").read_text())
    counts = {"books": 2, "skipped": 1, "tokens": 9, "words": 4}
    counts |= {"train_books": 2, "train_tokens": 9}
    counts |= {"held_out_books": 0, "held_out_tokens": 0}
    assert index["total"] == counts
    keys = ("name", "shard", "offset", "tokens")
    places = [tuple(book[key] for key in keys) for book in index["books"]]
    assert places == [("a", 0, 0, 7), ("b", 1, 3, 2)]
    assert [shard["tokens"] for shard in index["shards"]] == [4, 4, 1]
    assert index["skipped"] == [{"name": "c", "reason": "no text in it"}]
    assert (index["vocabulary_size"], index["dtype"]) == (128, "uint16")
    assert (index["format"], index["shard_tokens"]) == (shards.FORMAT, 4)
    sha256 = recipe.tokenizer.sha256
    assert index["tokenizer"] == {"type": "bpe", "sha256": sha256}
    assert (out / "shard_00001.bin").read_bytes() == b"e\0\n\0f\0g\0"
    # The identity of a recipe: a change would orphan every prepared corpus.
    assert index["request"] == (
        "26144f7a841ee2fdd19d80bf8350e053413314db823c1ae08b34400bf10d0d72"
    )
    wide = prepare.Recipe(letter_tokenizer.LetterTokenizer(70_000))
    files["b"].write_text("ghé\n")
    found = prepare.prepare({"b": files["b"]}, tmp_path / "wide", wide)
    assert found.index["books"][0]["bytes"] == 5
    content = (tmp_path / "wide" / "shard_00000.bin").read_bytes()
    assert content == b"g\0\0\0h\0\0\0"
    with pytest.raises(InputError, match="no text in any of 1 files"):
        prepare.prepare({"c": files["c"]}, tmp_path / "none", recipe)


TRAINED = {"tokenizer": None, "tokenizer_type": "bpe", "vocabulary_size": 90}


@pytest.mark.parametrize("recipe", [{}, TRAINED])
def test_a_prepared_folder_is_left_alone(folder, tmp_path, recipe):
    out = tmp_path / "out"
    prepare_letters(folder, out, **recipe)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    prepare_letters(folder, out, **recipe)
    changes = [{"split_seed": 1}, {"held_out_fraction": 0.5}]
    changes.append({"held_out_books": ("book_01.txt",)})
    for change in [*changes, {"vocabulary_size": 80}] if recipe else changes:
        with pytest.raises(InputError, match="choose another folder"):
            prepare_letters(folder, out, **recipe | change)
    (folder / "book_00.txt").write_text("Another text altogether.")
    for change in ({}, *changes):
        with pytest.raises(InputError, match="choose another folder"):
            prepare_letters(folder, out, **recipe | change)
    with prepare.exclusive(out, wait=False):
        with pytest.raises(InputError, match="another process is using"):
            prepare_letters(folder, out)
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*")}


def test_a_killed_run_encodes_what_is_missing(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(books, "_BLOCK_BYTES", 400)  # several pieces a book
    out, seen = tmp_path / "out", []

    def prepare_killed(count, **recipe):
        def distribute(function, tasks):
            seen.append(tasks)
            yield from (function(*task) for task in tasks[:count])
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            prepare_letters(folder, out, distribute=distribute, **recipe)

    for count in (5, 0, 7):
        prepare_killed(count)
    assert seen[1] == seen[2] == seen[0][5:] and len(seen[0]) > 20
    with pytest.raises(InputError, match="only partly prepared"):
        open_corpus(out)
    # Of a kill while a piece or the shards were written.
    for name in ("shard_00000.bin", "shard_00099.bin", ".pieces/.half.tmp"):
        (out / name).write_bytes(b"half a")
    # Ids do not depend on the split, but on the text.
    (folder / "book_00.txt").write_text("Another text altogether.")
    prepare_killed(None, split_seed=1)
    assert seen[3][0][0].name == "book_00.txt" and seen[3][1:] == seen[2][7:]
    prepare_letters(folder, out, split_seed=1)
    prepare_letters(folder, tmp_path / "whole", split_seed=1)
    assert data_files.contents(out) == data_files.contents(tmp_path / "whole")


def open_corpus(corpus, **changes):
    recipe = {"tokenizer_type": "bpe", "vocabulary_size": 120}
    recipe |= {"held_out_fraction": 0.1}
    return prepare.open_corpus(corpus, prepare.Recipe(**recipe | changes))


def test_a_folder_of_books_is_prepared_once(folder, tmp_path, monkeypatch):
    prepared, tokenizer = open_corpus(folder)
    assert prepared.directory.parent == tmp_path / "cache"
    assert prepared.index["tokenizer"]["sha256"] == tokenizer.sha256
    assert prepared.index["vocabulary_size"] == tokenizer.vocabulary_size <= 120
    name = prepared.split("train").names[0]
    expected = tokenizer.encode((folder / name).read_text())
    assert tokens_of(prepared)[name] == expected
    with monkeypatch.context() as patch:
        patch.setattr(books, "check_all", None)  # would fail if called
        again, same = open_corpus(folder)
    assert same.sha256 == tokenizer.sha256
    assert again.directory == prepared.directory
    directories = {prepared.directory}
    changes = {"vocabulary_size": 100, "held_out_fraction": 0.4}
    changes |= {"split_seed": 1, "tokenizer_type": "wordpiece"}
    changes |= {"held_out_books": (name,), "tokenizer": tokenizer}
    for change in changes.items():
        other, _ = open_corpus(folder, **dict([change]))
        directories.add(other.directory)
    assert other.split("train").names == prepared.split("train").names
    (folder / "new.txt").write_text("A new book.")
    directories.add(open_corpus(folder)[0].directory)
    assert len(directories) == 8


def test_cache_folder_is_that_of_earlier_versions(tmp_path):
    """A corpus of gigabytes is not prepared again."""
    path = tmp_path / "a"
    path.write_text("abc")
    os.utime(path, ns=(1, 1))
    recipe = prepare.Recipe(None, "bpe", 100, 0.03, split_seed=7)
    found = prepare.cache_folder("corpus", {"a": path}, recipe)
    assert found.name == "corpus_01aa66714ad407f1"


def test_the_tokenizer_does_not_see_held_out_books(folder, tmp_path):
    prepared, _ = open_corpus(folder)
    # A file without text, which would be the first to be held out.
    names = [f"empty_{i}.txt" for i in range(200)]
    names += prepared.split("all").names
    first = split_lib.choose(names, fraction=0.1, seed=0)[0]
    assert first.startswith("empty")
    (folder / first).write_text("*** START OF THE PROJECT GUTENBERG EBOOK A")
    for split, is_seen in (("held_out", False), ("train", True)):
        with open(folder / prepared.split(split).names[0], "a") as file:
            file.write("\n" + "@@@@@ " * 50)
        _, tokenizer = open_corpus(folder)
        assert ("@" in "".join(tokenizer.vocabulary)) == is_seen


def test_prepared_shards_are_a_corpus(folder, tmp_path):
    made, tokenizer = open_corpus(folder)
    opened, same = open_corpus(made.directory)
    assert same.sha256 == tokenizer.sha256
    assert tokens_of(opened) == tokens_of(made)
    opened, same = open_corpus(made.directory, tokenizer=tokenizer)
    assert same is tokenizer
    with pytest.raises(InputError, match="`held_out_books` are not those"):
        open_corpus(made.directory, held_out_books=("other.txt",))
    with pytest.raises(InputError, match="holds no .txt file"):
        prepare_letters(made.directory, tmp_path / "again")
    with pytest.raises(InputError, match="holds the books"):
        prepare_letters(folder, folder)
    other = tokenizer_lib.Tokenizer(
        tokenizer.vocabulary[:-1], tokenizer.merges[:-1]
    )
    with pytest.raises(InputError, match="prepared with another tokenizer"):
        open_corpus(made.directory, tokenizer=other)
    path = made.directory / "tokenizer" / "merges.txt"
    lines = path.read_text("utf-8").split("\n")
    lines[1], lines[2] = lines[2], lines[1]
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match="prepared with another tokenizer"):
        open_corpus(made.directory)
