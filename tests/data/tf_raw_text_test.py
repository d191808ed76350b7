import pathlib

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import loaders
from gpt1_keras.text import train_vocabulary
from tests.reference import kill_run

pytest.importorskip("tensorflow")

from gpt1_keras.data import tf_raw_text  # noqa: E402

B, T = 3, 16


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
    paths = sorted(folder.iterdir())
    texts = [books.clean(books.read_book(path)) for path in paths]
    tokenizer = train_vocabulary.train_bpe(texts, vocabulary_size=150)
    pieces = [p for path in paths for p in books.cut(path, 1 << 24)]
    return pieces, [tokenizer.encode(text) for text in texts], tokenizer


def make(novels, *, factor=1.0, pieces=None, seed=0):
    found, ids, tokenizer = novels
    lengths = np.array([round(factor * len(i)) for i in ids])
    return tf_raw_text.RawTextBatches(
        pieces or found,
        lengths,
        tokenizer=tokenizer,
        frequent=["the", "old"],
        batch_size=B,
        sequence_length=T,
        seed=seed,
        pool_books=3,
    )


def read(batches, first_step, num_steps):
    dataset = batches.dataset(first_step=first_step, num_steps=num_steps)
    assert int(dataset.cardinality()) == num_steps
    return list(dataset.as_numpy_iterator())


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.3])
def test_windows_are_those_of_the_python_tokenizer(novels, factor):
    """However wrong the estimate of the tokens is."""
    batches = make(novels, factor=factor)
    steps = batches.num_windows // B
    rows = np.concatenate(
        [b["token_ids"][:, 0] for b in read(batches, 0, steps)]
    )
    assert rows.shape == (steps * B, T)
    texts = [" ".join(map(str, ids)) + " " for ids in novels[1]]
    seen = [0] * len(texts)
    for row in rows:
        text = " ".join(map(str, row)) + " "
        found = [i for i, whole in enumerate(texts) if text in whole]
        assert found
        seen[found[0]] += 1
    assert all(seen)


def test_an_epoch_reads_every_token(novels):
    """Where the number of tokens is known, but for the ends of books."""
    batches = make(novels)
    steps = -(-batches.num_windows // B)
    rows = [b["token_ids"][:, 0].tolist() for b in read(batches, 0, steps)]
    rows = {tuple(row) for batch in rows for row in batch}
    for ids in novels[1]:
        starts = [
            i for i in range(len(ids) - T + 1) if tuple(ids[i : i + T]) in rows
        ]
        assert starts[0] < T and starts[-1] > len(ids) - 2 * T
        assert max(np.diff(starts)) <= T


def test_any_step_is_the_same_wherever_reading_begins(novels):
    batches = make(novels)
    steps = 2 * batches.num_windows // B + 3  # into the third epoch
    everything = read(batches, 0, steps)
    for first in (1, steps // 3, steps // 2, steps - 2):
        for batch, expected in zip(
            read(make(novels), first, 2), everything[first:]
        ):
            np.testing.assert_equal(batch, expected)
    other = read(make(novels, seed=1), 0, 2)
    assert (other[0]["token_ids"] != everything[0]["token_ids"]).any()


def test_through_the_loader_with_static_shapes(novels):
    batches = make(novels)
    loaded = loaders.load(batches, first_step=2, num_steps=3)
    spec = loaded.element_spec
    assert spec["token_ids"].shape == (B, 1, T)
    assert spec["token_weights"].shape == (B, 1, T)
    assert spec["extract_position"].shape == (B, 1)
    (batch, *_) = loaded.as_numpy_iterator()
    np.testing.assert_equal(batch, read(batches, 2, 1)[0])
    assert (batch["token_weights"][..., 0] == 0).all()
    assert (batch["token_weights"][..., 1:] == 1).all()
    assert (batch["extract_position"] == T - 1).all()


def test_a_book_shorter_than_a_window_is_filled_up(novels, tmp_path):
    path = pathlib.Path(tmp_path / "short.txt")
    path.write_text("the old captain\n")
    ids = novels[2].encode("the old captain")
    piece = books.Piece(str(path), 0, path.stat().st_size)
    batches = tf_raw_text.RawTextBatches(
        [piece],
        np.array([T]),
        tokenizer=novels[2],
        frequent=[],
        batch_size=1,
        sequence_length=T,
        seed=0,
        pool_books=1,
    )
    (batch,) = read(batches, 0, 1)
    count = len(ids)
    assert batch["token_ids"][0, 0].tolist() == ids + [0] * (T - count)
    expected = [0.0] + [1.0] * (count - 1) + [0.0] * (T - count)
    assert batch["token_weights"][0, 0].tolist() == expected
    assert batch["extract_position"].tolist() == [[count - 1]]
