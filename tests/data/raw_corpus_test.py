import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import corpus as corpus_lib
from gpt1_keras.data import tf_raw_text
from tests.reference import kill_run

pytest.importorskip("tensorflow")

SETTINGS = {
    "tokenizer_type": "bpe",
    "vocabulary_size": 150,
    "held_out_fraction": 0.34,
    "seed": 0,
}


@pytest.fixture
def corpus(tmp_path):
    return kill_run.write_books(tmp_path / "books")


def open_raw(corpus, tmp_path, **settings):
    return tf_raw_text.open_raw(
        corpus,
        cache_dir=tmp_path / "cache",
        **{**SETTINGS, "pool_books": 2, **settings},
    )


def test_split_and_tokenizer_are_those_of_prepared_books(corpus, tmp_path):
    raw, tokenizer = open_raw(corpus, tmp_path)
    prepared, same = corpus_lib.open_corpus(
        corpus, cache_dir=tmp_path / "other", **SETTINGS
    )
    assert tokenizer.sha256 == same.sha256
    ours, theirs = raw.split("held_out"), prepared.split("held_out")
    assert sorted(ours.names) == sorted(theirs.names)
    assert len(ours.names) == 2
    for i, name in enumerate(ours.names):
        place = theirs.names.index(name)
        assert (
            ours.read(i, 0, 10**6).tolist()
            == theirs.read(place, 0, 10**6).tolist()
        )
        assert ours.words[i] == theirs.words[place]
    counted = prepared.split("train").lengths
    estimated = raw.split("train").lengths
    np.testing.assert_allclose(sorted(estimated), sorted(counted), rtol=0.05)


def test_made_once(corpus, tmp_path, monkeypatch):
    first, _ = open_raw(corpus, tmp_path)
    monkeypatch.setattr(tf_raw_text, "_make", None)  # would fail if called
    again, tokenizer = open_raw(corpus, tmp_path)
    options = {"batch_size": 2, "sequence_length": 16, "seed": 0}
    batches = [
        next(
            raw.training_batches(**options)
            .dataset(num_steps=1)
            .as_numpy_iterator()
        )
        for raw in (first, again)
    ]
    np.testing.assert_equal(*batches)
    assert batches[0]["token_ids"].max() < tokenizer.vocabulary_size


def test_nothing_held_out(corpus, tmp_path):
    raw, _ = open_raw(corpus, tmp_path, held_out_fraction=0.0)
    assert len(raw.split("held_out").lengths) == 0
    assert len(raw.split("train").lengths) == 6


def test_mistakes(corpus, tmp_path):
    with pytest.raises(errors.InputError, match="POOL_BOOKS is 0"):
        open_raw(corpus, tmp_path, pool_books=0)
    with pytest.raises(errors.InputError, match="nowhere does not exist"):
        open_raw(tmp_path / "nowhere", tmp_path)
    corpus_lib.prepare(
        {p.name: p for p in corpus.iterdir()},
        None,
        tmp_path / "prepared",
        **SETTINGS,
    )
    with pytest.raises(errors.InputError, match="holds token shards") as caught:
        open_raw(tmp_path / "prepared", tmp_path)
    assert "\n" not in str(caught.value)
