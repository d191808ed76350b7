"""Input pipeline of pretraining in tokens per second: shards and raw books.

`shards` are prepared once, in `prepare_seconds`; `raw_text` is tokenised while
it is read (`gin/data/raw_text.gin`); its first use takes `open_seconds` before.
Both read the generated sample corpus.
"""

import itertools
import os
import pathlib
import tempfile
from unittest import mock

from tools.benchmarks import contest
from tools.benchmarks import networks

_WORDS = 1_500_000
_POOL_BOOKS = 4  # of the 20 or so of the corpus
EPOCHS = 5  # enough to make prefetching between two calls negligible
_BATCH = {"batch_size": 16, "sequence_length": 512, "seed": 0}


def measure(*, sizes, rounds, words=_WORDS):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: not used: batches are 16 sequences of 512 tokens.
        rounds: int, how often each contender reads the corpus `EPOCHS`
            times.
        words: int, of the corpus.
    """
    del sizes
    with tempfile.TemporaryDirectory() as directory:
        cache = {"GPT1_KERAS_CACHE": f"{directory}/cache"}
        with mock.patch.dict(os.environ, cache):
            return _measure(pathlib.Path(directory), words, rounds)


def _measure(directory, words, rounds):
    from gpt1_keras.data import prepare
    from gpt1_keras.data import tf_raw_text
    from gpt1_keras.sample_world import corpus as corpus_lib

    corpus_lib.write_corpus(directory / "books", words=words)
    books = directory / "books"
    recipe = prepare.Recipe(networks.tokenizer(), held_out_fraction=0.03)
    prepared, (shards, _) = contest.timed(prepare.open_corpus, books, recipe)
    opened, (raw, _) = contest.timed(
        tf_raw_text.open_raw,
        books,
        recipe,
        pool_books=_POOL_BOOKS,
    )
    total = shards.index["total"]["tokens"]
    per_step = _BATCH["batch_size"] * _BATCH["sequence_length"]
    num_steps = EPOCHS * max(1, total // per_step)
    found, counts = contest.run(
        {
            "shards": reader(shards.training_batches(**_BATCH), num_steps),
            "raw_text": reader(raw.training_batches(**_BATCH), num_steps),
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


def reader(batches, num_steps):
    """Return a function that loads the next batches and returns their number.

    The first call includes the start-up, above all building the graph.
    """
    from gpt1_keras.data import loaders

    def many():
        yield from loaders.load(batches, first_step=0, num_steps=10**9)

    loaded = many()
    return lambda: sum(1 for _ in itertools.islice(loaded, num_steps))
