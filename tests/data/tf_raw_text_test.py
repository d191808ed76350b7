import collections
import dataclasses
import functools
from unittest import mock

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data import books
from gpt1_keras.data import prepare
from gpt1_keras.data import windows
from gpt1_keras.text import train_vocabulary
from tests.reference import kill_run

pytest.importorskip("tensorflow")

from gpt1_keras.data import tf_raw_text  # noqa: E402
from tests.data.tf_raw_rows_test import read  # noqa: E402

B, T = 3, 16


@hypothesis.settings(max_examples=40)
@hypothesis.given(
    lengths=st.lists(st.integers(0, 90), min_size=1, max_size=6),
    pool_books=st.integers(1, 7),
    seed=st.integers(0, 5),
)
def test_an_epoch_has_the_windows_of_counted_books(lengths, pool_books, seed):
    """If the estimate is right they start where `TrainingWindows` do."""
    lengths = [*lengths, 20]
    made = tf_raw_text.PooledWindows(
        lengths, sequence_length=8, seed=seed, pool_books=pool_books
    )
    counted = windows.TrainingWindows(lengths, sequence_length=8, seed=seed)
    num_books = sum(length >= 8 for length in lengths)
    # (place of the book, book, share) of every window, as they are read.
    found = []
    for pool in range(3 * num_books):  # three epochs or more
        places = range(pool * made.pool_books, (pool + 1) * made.pool_books)
        made_of = [(p, *made.book(p)) for p in places]
        of_pool = [
            (p, b, share) for p, b, shares in made_of for share in shares
        ]
        found += [of_pool[i] for i in made.order(pool)]
    for epoch in range(2):
        numbers = np.arange(counted.num_windows) + epoch * counted.num_windows
        expected = collections.Counter(
            map(tuple, np.stack(counted.at(numbers), axis=1).tolist())
        )
        starts = collections.Counter(
            (book, round(share * (lengths[book] - 8)))
            for place, book, share in found
            if place // num_books == epoch
        )
        assert starts == expected


@pytest.fixture(scope="module")
def novels(tmp_path_factory):
    """(pieces, the ids of each by the Python tokenizer, tokenizer)."""
    folder = kill_run.write_books(tmp_path_factory.mktemp("raw") / "books")
    # Dashes, quotes, several forms of a line end, and hard-wrapped lines.
    (folder / "book_6.txt").write_text(
        "\u201cWhat\u2014the old captain\u2026\u201d the doctor didn't say.\r\n"
        "And while the garden wasn\u2019t near, they walked.\r\n\r\n" * 30,
        encoding="utf-8",
    )
    paths = sorted(folder.iterdir())[3:]
    pieces = [piece for path in paths for piece in books.cut(path)]
    texts = ["\n".join(books.read_piece(piece)) for piece in pieces]
    tokenizer = train_vocabulary.train_bpe(texts, vocabulary_size=150)
    return pieces, [tokenizer.encode(text) for text in texts], tokenizer


@pytest.fixture(scope="module", autouse=True)
def one_graph():
    """Builds the graph of a tokenizer once: it takes seconds."""
    build = functools.cache(tf_raw_text.tf_tokenizer.GraphTokenizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            tf_raw_text.tf_tokenizer,
            "GraphTokenizer",
            lambda tokenizer, frequent: build(tokenizer, tuple(frequent)),
        )
        yield


def make(novels, *, pieces=None, lengths=None, seed=0, size=B):
    found, ids, tokenizer = novels
    lengths = lengths or list(map(len, ids))
    corpus = mock.Mock(
        pieces=pieces or found,
        tokenizer=tokenizer,
        index={"frequent": ["the", "old"]},
        pool_books=3,
    )
    corpus.split.return_value.lengths = lengths
    options = {"batch_size": size, "sequence_length": T, "seed": seed}
    return tf_raw_text.RawTextBatches(corpus, **options)


@pytest.fixture(scope="module")
def batches(novels):
    return make(novels)


def test_an_epoch_reads_every_token(novels, batches):
    """If the number of tokens is known, except at the ends of books."""
    steps = -(-batches.num_windows // B)
    found = [x["token_ids"][:, 0].tolist() for x in read(batches, 0, steps)]
    rows = {tuple(row) for batch in found for row in batch}
    for ids in novels[1]:
        starts = [
            i for i in range(len(ids) - T + 1) if tuple(ids[i : i + T]) in rows
        ]
        assert starts[0] < T and starts[-1] > len(ids) - 2 * T
        assert max(np.diff(starts)) <= T


def test_any_step_is_the_same_wherever_reading_begins(novels, batches):
    steps = 2 * batches.num_windows // B + 3  # into the third epoch
    everything = read(batches, 0, steps)
    again = make(novels)
    for first in (1, steps - 2):
        found = read(again, first, 2)
        np.testing.assert_equal(found, everything[first : first + 2])
    other = read(make(novels, seed=1), 0, 1)
    assert (other[0]["token_ids"] != everything[0]["token_ids"]).any()


def test_a_book_shorter_than_a_window_is_padded(novels, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("the old captain\n")
    ids = novels[2].encode("the old captain")
    piece = books.Piece(str(path), 0, path.stat().st_size)
    (batch,) = read(make(novels, pieces=[piece], lengths=[T], size=1), 0, 1)
    count = len(ids)
    assert batch["token_ids"][0, 0].tolist() == ids + [0] * (T - count)
    expected = [0.0] + [1.0] * (count - 1) + [0.0] * (T - count)
    assert batch["token_weights"][0, 0].tolist() == expected
    assert batch["extract_position"].tolist() == [[count - 1]]


@pytest.mark.usefixtures("cache")
def test_split_and_tokenizer_are_those_of_prepared_books(tmp_path, monkeypatch):
    corpus = kill_run.write_books(tmp_path / "books")
    # A book without text is none.
    (corpus / "zz.txt").write_text("*** START OF THE PROJECT GUTENBERG EBOOK")
    recipe = prepare.Recipe(
        tokenizer_type="bpe", vocabulary_size=150, held_out_fraction=0.34
    )
    open_raw = functools.partial(
        tf_raw_text.open_raw, corpus, recipe, pool_books=2
    )
    raw, tokenizer = open_raw()
    prepared, same = prepare.open_corpus(corpus, recipe)
    assert tokenizer.sha256 == same.sha256
    ours, theirs = raw.split("held_out"), prepared.split("held_out")
    assert sorted(ours.names) == sorted(theirs.names)
    assert len(ours.names) == 2
    for i, name in enumerate(ours.names):
        place = theirs.names.index(name)
        np.testing.assert_array_equal(
            ours.read(i, 0, 10**6), theirs.read(place, 0, 10**6)
        )
        assert ours.words[i] == theirs.words[place]
    counted = prepared.split("train").lengths
    estimated = sorted(raw.split("train").lengths)
    np.testing.assert_allclose(estimated, sorted(counted), rtol=0.05)
    monkeypatch.setattr(tf_raw_text, "_make_index", None)  # made only once
    again, same = open_raw()
    assert same.sha256 == tokenizer.sha256
    options = {"batch_size": 2, "sequence_length": 16, "seed": 0}
    (batch,) = read(again.training_batches(**options), 0, 1)
    assert 0 < batch["token_ids"].max() < tokenizer.vocabulary_size
    # A run that resumes finds out that a book has changed.
    assert again.sha256() == raw.sha256()
    monkeypatch.undo()
    name = raw.index["train"][0]
    (corpus / name).write_text((corpus / name).read_text()[::-1])
    changed, _ = tf_raw_text.open_raw(
        corpus, dataclasses.replace(recipe, tokenizer=tokenizer), pool_books=2
    )
    assert changed.sha256() != raw.sha256()


def test_raw_text_cannot_be_repeated():
    corpus = object.__new__(tf_raw_text.RawCorpus)
    with pytest.raises(errors.InputError, match="`repeated_share` is 0.1"):
        corpus.training_batches(repeated_share=0.1)
