"""Preparation of a corpus: `.txt` books to token shards."""

import time

from absl import logging

from gpt1_keras import results
from gpt1_keras.data import prepare as prepare_lib
from gpt1_keras.runs import sources


def prepare(*, corpus: sources.Corpus, workdir, config_sha256):
    """Write `index.json`, `shard_*.bin` and `tokenizer/` to `workdir`.

    The workdir is the `corpus` of later runs. A killed run resumes where it
    stopped. Unreadable files are skipped, logged and listed in the index.
    """
    started = time.monotonic()
    recipe = corpus.recipe()
    shards = prepare_lib.prepare([corpus.folder], workdir, recipe)
    logging.info("%s: %s", shards.directory, shards.summary())
    total = shards.index["total"]
    return results.write(
        workdir,
        run="prepare",
        task="corpus",
        split="all",
        metrics=total,
        num_examples=total["books"],
        seed=corpus.split_seed,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
    )
