import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gpt1_keras import files
from gpt1_keras.data import books
from gpt1_keras.data import corpus as corpus_lib
from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import letter_tokenizer

LETTERS = list("abcdefghijklmnopqrstuvwxyz")


def paragraph(generator):
    words = ["".join(generator.choice(LETTERS, 4)) for _ in range(30)]
    return " ".join(words) + "."


def write_books(folder, count=12):
    """Books of 5 to 40 paragraphs, a line each, all random."""
    folder.mkdir()
    for number in range(count):
        generator = np.random.default_rng(number)
        lines = [paragraph(generator) for _ in range(5 + 3 * number)]
        (folder / f"book_{number:02d}.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def books_folder(tmp_path):
    return write_books(tmp_path / "books")


def prepare_letters(books_folder, directory, **changes):
    settings = {
        "held_out_fraction": 0.1,
        "seed": 0,
        "num_processes": 1,
        "shard_tokens": 1000,
        "piece_bytes": 1000,
    }
    tokenizer = letter_tokenizer.LetterTokenizer()
    return corpus_lib.prepare(
        [books_folder], tokenizer, directory, **{**settings, **changes}
    )


def contents(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def tokens_of(prepared):
    found = {}
    for name in ("train", "held_out"):
        split = prepared.split(name)
        for book, length in enumerate(split.lengths):
            found[split.names[book]] = split.read(book, 0, length).tolist()
    return found


def expected_ids(path):
    return [ord(c) for c in path.read_text() if c != " "]


def test_every_book_is_in_the_shards(books_folder, tmp_path):
    prepared = prepare_letters(books_folder, tmp_path / "out")
    expected = {
        path.name: expected_ids(path) for path in books_folder.iterdir()
    }
    assert tokens_of(prepared) == expected
    assert len(prepared.index["shards"]) > 3
    words = {book["name"]: book["words"] for book in prepared.index["books"]}
    assert words == {
        p.name: len(p.read_text().split()) for p in books_folder.iterdir()
    }
    total = prepared.index["total"]
    assert total["tokens"] == sum(map(len, expected.values()))
    assert total["tokens"] == total["train_tokens"] + total["held_out_tokens"]
    assert (total["books"], total["held_out_books"], total["skipped"]) == (
        12,
        1,
        0,
    )
    assert all(
        book["overlap"] < 0.05
        for book in prepared.index["books"]
        if book["split"] == "held_out"
    )
    assert tokens_of(shards.Shards.open(tmp_path / "out")) == expected


def test_processes_make_no_difference(books_folder, tmp_path):
    prepare_letters(books_folder, tmp_path / "one")
    prepare_letters(books_folder, tmp_path / "two", num_processes=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_broken_files_are_skipped_and_counted(books_folder, tmp_path):
    (books_folder / "binary.txt").write_bytes(b"\x7fELF\0\0")
    (books_folder / "empty.txt").write_bytes(b" \n")
    (books_folder / "latin.txt").write_bytes(
        "\n".join(["caf\xe9"] * 9).encode("latin-1")
    )
    (books_folder / "greek.txt").write_text(
        "μῆνις\n", "utf-8"
    )  # no letter the tokenizer knows
    prepared = prepare_letters(books_folder, tmp_path / "out")
    skipped = {
        entry["name"]: entry["reason"] for entry in prepared.index["skipped"]
    }
    assert set(skipped) == {"binary.txt", "empty.txt", "greek.txt", "latin.txt"}
    assert skipped["binary.txt"] == "binary" and skipped["empty.txt"] == "empty"
    assert prepared.index["total"]["skipped"] == 4
    assert len(tokens_of(prepared)) == 12


def test_a_held_out_copy_is_trained_on(tmp_path):
    folder = write_books(tmp_path / "books")
    settings = {"held_out_fraction": 0.25, "seed": 3}
    first = prepare_letters(folder, tmp_path / "first", **settings)
    held = first.split("held_out").names
    assert len(held) == 3
    whole = (folder / held[0]).read_text()
    names = [*held, *first.split("train").names]
    copies = (f"collection_{number}.txt" for number in range(100))
    copy = next(
        c
        for c in copies
        if set(prepare.choose_held_out([*names, c], fraction=0.25, seed=3))
        == set(held)
    )
    (folder / copy).write_text(
        whole + "\n" + paragraph(np.random.default_rng(99))
    )
    second = prepare_letters(folder, tmp_path / "second", **settings)
    assert held[0] not in second.split("held_out").names
    moved = next(b for b in second.index["books"] if b["name"] == held[0])
    assert moved["split"] == "train" and moved["overlap"] == 1.0


def children(pid):
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            if f"\nPPid:\t{pid}\n" in status.read_text():
                found.append(int(status.parent.name))
        except OSError:
            pass
    return found


def test_a_killed_run_goes_on_to_the_same_bytes(
    books_folder, tmp_path, request, monkeypatch
):
    prepare_letters(books_folder, tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    num_pieces = sum(
        len(books.cut(path, 1000)) for path in books_folder.iterdir()
    )
    out = tmp_path / "out"
    root = request.config.rootpath
    command = [
        sys.executable,
        "-m",
        "tests.reference.slow_prepare",
        str(books_folder),
        str(out),
    ]
    process = subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    journal = out / "journal.jsonl"
    while not (journal.exists() and len(journal.read_text().splitlines()) > 5):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "index.json").exists()
    num_done = len(journal.read_text().splitlines()) - 1
    assert 5 <= num_done < num_pieces
    encoded = []
    encode_piece = encode.encode_piece
    monkeypatch.setattr(
        encode,
        "encode_piece",
        lambda *a: encoded.append(a) or encode_piece(*a),
    )
    prepare_letters(books_folder, out)
    assert contents(out) == whole
    assert len(encoded) + num_done == num_pieces
    assert len(workers) >= 2
    until = time.monotonic() + 10
    while any(pathlib.Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < until, "workers outlive their parent"
        time.sleep(0.05)


def test_a_second_run_does_nothing(books_folder, tmp_path):
    prepare_letters(books_folder, tmp_path / "out")
    before = (tmp_path / "out" / "shard_00000.bin").stat().st_mtime_ns
    prepare_letters(books_folder, tmp_path / "out")
    assert (tmp_path / "out" / "shard_00000.bin").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"held_out_fraction": 0.5}, "book"]
)
def test_another_corpus_is_not_overwritten(books_folder, tmp_path, change):
    prepare_letters(books_folder, tmp_path / "out")
    if change == "book":
        (books_folder / "book_00.txt").write_text("Another text altogether.")
        change = {}
    with pytest.raises(InputError, match="choose another folder"):
        prepare_letters(books_folder, tmp_path / "out", **change)


def test_one_process_prepares_a_folder(books_folder, tmp_path):
    (tmp_path / "out").mkdir()
    with files.exclusive(tmp_path / "out", wait=False):
        with pytest.raises(InputError, match="is being prepared by process"):
            prepare_letters(books_folder, tmp_path / "out")


def open_corpus(corpus, cache, **changes):
    settings = {
        "tokenizer_type": "bpe",
        "vocabulary_size": 120,
        "held_out_fraction": 0.1,
    }
    return corpus_lib.open_corpus(
        corpus, cache_dir=cache, **{**settings, **changes}
    )


def test_a_folder_of_books_is_prepared_once(
    books_folder, tmp_path, monkeypatch
):
    prepared, tokenizer = open_corpus(books_folder, tmp_path / "cache")
    assert prepared.tokenizer_sha256 == tokenizer.sha256
    assert prepared.vocabulary_size == tokenizer.vocabulary_size <= 120
    name = prepared.split("train").names[0]
    ids = tokens_of(prepared)[name]
    assert ids == tokenizer.encode((books_folder / name).read_text())

    def fail(*_, **__):
        raise AssertionError("prepared again")

    monkeypatch.setattr(corpus_lib.scanning, "scan", fail)
    again, same = open_corpus(books_folder, tmp_path / "cache")
    assert same.sha256 == tokenizer.sha256
    assert again.directory == prepared.directory
    monkeypatch.undo()
    for changes in (
        {"vocabulary_size": 100},
        {"held_out_fraction": 0.4},
        {"seed": 1},
        {"tokenizer_type": "wordpiece"},
    ):
        assert (
            open_corpus(books_folder, tmp_path / "cache", **changes)[
                0
            ].directory
            != prepared.directory
        )
    (books_folder / "new.txt").write_text("A new book.")
    assert (
        open_corpus(books_folder, tmp_path / "cache")[0].directory
        != prepared.directory
    )


def test_the_tokenizer_does_not_see_held_out_books(books_folder, tmp_path):
    prepared, _ = open_corpus(books_folder, tmp_path / "cache")
    held = prepared.split("held_out").names
    with open(books_folder / held[0], "a") as file:
        file.write("\n" + "@@@@@ " * 50)
    _, tokenizer = open_corpus(books_folder, tmp_path / "cache")
    assert "@" not in "".join(tokenizer.vocabulary)
    with open(books_folder / prepared.split("train").names[0], "a") as file:
        file.write("\n" + "@@@@@ " * 50)
    _, tokenizer = open_corpus(books_folder, tmp_path / "cache")
    assert "@" in "".join(tokenizer.vocabulary)


def test_the_cache_is_where_the_environment_says(
    books_folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "there"))
    prepared, _ = open_corpus(books_folder, None)
    assert prepared.directory.parent == tmp_path / "there"


def test_prepared_shards_are_a_corpus(books_folder, tmp_path):
    made, tokenizer = open_corpus(books_folder, tmp_path / "cache")
    opened, same = open_corpus(made.directory, None)
    assert same.sha256 == tokenizer.sha256 and tokens_of(opened) == tokens_of(
        made
    )
    opened, same = open_corpus(made.directory, None, tokenizer=tokenizer)
    assert same is tokenizer
    other = tokenizer_lib.Tokenizer(
        tokenizer.vocabulary[:-1], tokenizer.merges[:-1]
    )
    with pytest.raises(InputError, match="prepared with another tokenizer"):
        open_corpus(made.directory, None, tokenizer=other)


def test_a_spoiled_tokenizer_copy_is_refused(books_folder, tmp_path):
    made, _ = open_corpus(books_folder, tmp_path / "cache")
    path = made.directory / "tokenizer" / "merges.txt"
    lines = path.read_text("utf-8").split("\n")
    lines[1], lines[2] = lines[2], lines[1]
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match="is not the tokenizer"):
        open_corpus(made.directory, None)


def test_no_corpus_is_one_clear_line(books_folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.md").write_text("x")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "journal.jsonl").write_text("{}\n")
    expected = {
        tmp_path / "nowhere": "does not exist",
        tmp_path / "empty": "is empty",
        tmp_path / "other": "no .txt file and no index.json",
        tmp_path / "half": "only in part",
    }
    for corpus, message in expected.items():
        with pytest.raises(InputError, match=message) as caught:
            open_corpus(corpus, tmp_path / "cache")
        assert "\n" not in str(caught.value) and str(corpus) in str(
            caught.value
        )
    with pytest.raises(InputError, match="TOKENIZER_TYPE"):
        open_corpus(books_folder, tmp_path / "cache", tokenizer_type="unigram")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        open_corpus(books_folder, tmp_path / "file" / "cache")


def test_one_book_has_nothing_held_out(tmp_path):
    folder = write_books(tmp_path / "books", count=1)
    prepared = prepare_letters(folder / "book_00.txt", tmp_path / "out")
    assert len(prepared.split("held_out").lengths) == 0
    assert prepared.split("train").names == ["book_00.txt"]
    assert (
        json.loads((tmp_path / "out" / "index.json").read_text())["total"][
            "books"
        ]
        == 1
    )
    assert os.listdir(tmp_path / "out" / "tokenizer")
