import json
import logging
import signal

import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.runs import sources
from tests.reference import kill_run


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function: what differs -> `Corpus`; the cache is in tmp_path."""
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))

    def corpus(**settings):
        return sources.Corpus(
            **{
                "corpus": str(kill_run.write_books(tmp_path / "books")),
                "vocabulary": None,
                "merges": None,
                "tokenizer_type": "bpe",
                "vocabulary_size": 150,
                "held_out_fraction": 0.34,
                "split_seed": 0,
                "sample_words": 4000,
                "sample_seed": 0,
            }
            | settings
        )

    return corpus


def test_folder_of_books_is_prepared_once(make, tmp_path):
    shards, tokenizer = make().open()
    assert len(shards.split("train").lengths) == 4
    assert len(shards.split("held_out").lengths) == 2
    assert tokenizer.type == "bpe" and tokenizer.vocabulary_size <= 150
    (cached,) = (tmp_path / "cache").iterdir()
    index = (cached / "index.json").stat()
    again, same = make().open()
    assert same.sha256 == tokenizer.sha256
    assert (cached / "index.json").stat().st_mtime_ns == index.st_mtime_ns
    assert list((tmp_path / "cache").iterdir()) == [cached]


def test_word_piece_where_asked_for(make):
    _, tokenizer = make(tokenizer_type="wordpiece").open()
    assert tokenizer.type == "wordpiece"


def test_split_seed_chooses_the_held_out_books(make):
    chosen = {
        tuple(make(split_seed=seed).open()[0].split("held_out").names)
        for seed in range(3)
    }
    assert len(chosen) > 1


def test_prepared_books_bring_their_vocabulary(make, tmp_path):
    prepared = make().prepare(tmp_path / "prepared")
    shards, tokenizer = make(
        corpus=str(tmp_path / "prepared"), vocabulary_size=99
    ).open()
    assert tokenizer.sha256 == prepared.tokenizer_sha256
    assert shards.index == prepared.index


def test_vocabulary_of_its_own(make, tmp_path):
    _, tokenizer = make().open()
    files = tmp_path / "vocabulary"
    files.mkdir()
    tokenizer.save(files)
    given = {
        "vocabulary": str(files / "vocabulary.json"),
        "merges": str(files / "merges.txt"),
    }
    assert make().tokenizer() is None
    assert make(**given).tokenizer().sha256 == tokenizer.sha256
    shards, same = make(**given).open()
    assert same.sha256 == shards.tokenizer_sha256 == tokenizer.sha256


def test_vocabulary_that_does_not_fit_the_shards(make, tmp_path):
    prepared = tmp_path / "prepared"
    make().prepare(prepared)
    _, other = make(vocabulary_size=100).open()
    files = tmp_path / "vocabulary"
    files.mkdir()
    other.save(files)
    corpus = make(
        corpus=str(prepared),
        vocabulary=str(files / "vocabulary.json"),
        merges=str(files / "merges.txt"),
    )
    with pytest.raises(errors.InputError, match="prepared"):
        corpus.open()


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"corpus": "no_such_folder"}, "no_such_folder does not exist"),
        ({"vocabulary": "none.json", "merges": "none.txt"}, "none.json"),
        ({"merges": "none.txt"}, "without its VOCABULARY"),
    ],
)
def test_mistakes(make, settings, expected):
    with pytest.raises(errors.InputError, match=expected) as caught:
        make(**settings).open()
    assert "\n" not in str(caught.value)


def test_sample_corpus_where_none_is_given(make, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="absl"):
        shards, tokenizer = make(corpus=None).open()
    (record,) = caplog.records
    assert "no CORPUS is given" in record.getMessage()
    assert "bpe trained on it" in record.getMessage()
    assert shards.split("train").words.sum() > 2000
    assert tokenizer.vocabulary_size > 50


class RawExperiment(kill_run.Experiment):
    """As ever, the books tokenised while they are read."""

    gin_files = (*kill_run.Experiment.gin_files, "gin/data/raw_text.gin")


def test_raw_text_needs_tensorflow(make, monkeypatch):
    raw = sources.RawText(corpus=make(), pool_books=2)
    monkeypatch.setattr(sources.keras.config, "backend", lambda: "jax")
    expected = "needs KERAS_BACKEND=tensorflow, not jax; the default reads"
    with pytest.raises(errors.InputError, match=expected) as caught:
        raw.open()
    assert "\n" not in str(caught.value)


def test_raw_text_holds_out_what_prepared_books_do(make):
    pytest.importorskip("tensorflow")
    if keras.config.backend() != "tensorflow":
        pytest.skip("for the TensorFlow backend")
    raw, tokenizer = sources.RawText(corpus=make(), pool_books=2).open()
    prepared, same = make().open()
    assert tokenizer.sha256 == same.sha256
    names = [sorted(x.split("held_out").names) for x in (raw, prepared)]
    assert names[0] == names[1]


@pytest.mark.slow
def test_a_run_on_raw_text_that_is_stopped_ends_with_the_same_weights(
    tmp_path,
):
    """Begun, sent SIGTERM, killed, gone on with; held-out books as ever."""
    if keras.config.backend() != "tensorflow":
        pytest.skip("for the TensorFlow backend")
    experiment = RawExperiment(
        tmp_path, backend="tensorflow", **{"corpora.RawText.pool_books": 2}
    )
    undisturbed, stopped = tmp_path / "undisturbed", tmp_path / "stopped"
    status, output = experiment.finish(undisturbed)
    assert status == 0, output
    status, output, _ = experiment.send(stopped, signal.SIGTERM, step=7)
    assert status == 3, output
    killed_at = experiment.kill_and_finish(stopped, kills=1, seed=0)
    assert len(killed_at) == 1
    assert kill_run.differences(undisturbed, stopped) == []
    losses = [x["loss"] for x in kill_run.lines(stopped) if "loss" in x]
    assert losses[-1] < losses[0] - 0.3
    offline = kill_run.Experiment(tmp_path, backend="tensorflow", NUM_STEPS=1)
    status, output = offline.finish(tmp_path / "offline")
    assert status == 0, output
    results = [
        json.loads((workdir / "result.json").read_text())
        for workdir in (stopped, tmp_path / "offline")
    ]
    assert results[0]["num_examples"] == results[1]["num_examples"] > 500
