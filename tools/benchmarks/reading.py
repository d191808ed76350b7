"""Tokens per second that reach a model, encoded beforehand or on the way.

Books: `shards` are prepared first, which takes `prepare_seconds` once;
`raw_text` is tokenised while it is read (`gin/data/raw_text.gin`), after the
`open_seconds` it takes on first use. Both read the generated sample corpus.

Labelled rows: `encoded` ones are encoded first (`encode_seconds`), `raw` ones
on the way (`gin/data/raw_examples.gin`). Both read generated SNLI.
"""

import pathlib
import tempfile
import time

from tools.benchmarks import contest
from tools.benchmarks import networks

_WORDS = 1_500_000
_POOL_BOOKS = 4  # of the 20 or so of the corpus
_ROWS = 20_000
_BUCKETS = (16, 24, 32, 48, 64, 96, 128)
_BATCH = {"batch_size": 16, "sequence_length": 512, "seed": 0}


def measure(*, sizes, rounds, words=_WORDS, rows=_ROWS):
    """Return what was measured, a dict (`contest.run`) each of two contests.

    Args:
        sizes: not used: batches are 16 sequences of 512 tokens, or 32 rows.
        rounds: int, how often each contender reads all once.
        words: int, of the corpus.
        rows: int, labelled examples.
    """
    del sizes
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        return {
            "books": _books(directory, words, rounds),
            "labelled_rows": _labelled_rows(directory, rows, rounds),
        }


def _books(directory, words, rounds):
    from gpt1_keras.data import prepare
    from gpt1_keras.data import raw_corpus
    from gpt1_keras.data.sample_world import corpus

    corpus.write_corpus(directory / "books", words=words)
    settings = {
        "tokenizer": networks.tokenizer(),
        "tokenizer_type": "bpe",
        "vocabulary_size": 0,
        "held_out_fraction": 0.03,
        "seed": 0,
        "cache_dir": directory / "cache",
    }
    books = directory / "books"
    (shards, _), prepared = _timed(prepare.open_corpus, books, **settings)
    (raw, _), opened = _timed(
        raw_corpus.open_raw, books, pool_books=_POOL_BOOKS, **settings
    )
    total = shards.index["total"]["tokens"]
    per_step = _BATCH["batch_size"] * _BATCH["sequence_length"]
    num_steps = max(1, total // per_step)
    found, counts = contest.run(
        {
            "shards": _reader(shards.training_batches(**_BATCH), num_steps),
            "raw_text": _reader(raw.training_batches(**_BATCH), num_steps),
        },
        rounds=rounds,
        work=num_steps * per_step,
        peer_of="shards",
    )
    return {
        "unit": "tokens/s",
        **found,
        "corpus_tokens": total,
        "prepare_seconds": round(prepared, 1),
        "open_seconds": round(opened, 1),
        "batches": counts,
    }


def _labelled_rows(directory, rows, rounds):
    from gpt1_keras.data.sample_world import benchmarks as sample_world
    from gpt1_keras.runs import labelled
    from gpt1_keras.runs import training_batches
    from gpt1_keras.tasks import benchmarks

    sample_world.write_benchmarks(
        directory / "data", num_train=rows, num_dev=10, num_test=10, seed=0
    )
    task = benchmarks.benchmark("snli")
    examples = task.read(directory / "data", "train")

    def make(batches):
        train = labelled.Labelled(
            task,
            examples,
            tokenizer=networks.tokenizer(),
            max_sequence_length=512,
            batch_size=32,
            bucket_lengths=_BUCKETS,
            name="snli",
        )
        return batches(
            train,
            batch_size=32,
            seed=0,
            bucket_lengths=_BUCKETS,
            pool_batches=16,
        )

    encoded, encoding = _timed(make, training_batches.encoded)
    raw, opening = _timed(make, training_batches.raw)
    num_steps = encoded.steps_per_epoch
    found, counts = contest.run(
        {
            "encoded": _reader(encoded, num_steps),
            "raw": _reader(raw, num_steps),
        },
        rounds=rounds,
        work=round(num_steps * encoded.tokens_per_step),
        peer_of="encoded",
    )
    return {
        "unit": "tokens/s",
        **found,
        "rows": len(examples),
        "encode_seconds": round(encoding, 1),
        "open_seconds": round(opening, 1),
        "batches": counts,
    }


def _reader(batches, num_steps):
    from gpt1_keras.data import loader

    return lambda: sum(
        1 for _ in loader.load(batches, first_step=0, num_steps=num_steps)
    )


def _timed(function, *arguments, **options):
    started = time.perf_counter()
    answer = function(*arguments, **options)
    return answer, time.perf_counter() - started
