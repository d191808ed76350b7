"""The tokenizer of a prepared corpus: its copy there, and its training."""

import hashlib
import json
import os
import shutil

from absl import logging

from gpt1_keras import files
from gpt1_keras.data import encoding
from gpt1_keras.data import held_out
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizers
from gpt1_keras.text import training

_IDENTITY = "identity.json"
_TRAINERS = {"bpe": training.train_bpe, "wordpiece": training.train_wordpiece}


def save(tokenizer, directory, *, training_sha256=None):
    """Write `directory`/tokenizer, unless it is there; it is whole or absent.

    Args:
        tokenizer: Tokenizer.
        directory: pathlib.Path of a prepared folder.
        training_sha256: str or None, identity of what it was trained on.
    """
    folder = directory / shards.TOKENIZER
    if _identity(folder).get("sha256") == tokenizer.sha256:
        return
    temporary = directory / f".{shards.TOKENIZER}.tmp"
    for old in (temporary, folder):
        if old.exists():
            shutil.rmtree(old)
    temporary.mkdir()
    tokenizer.save(temporary)
    identity = {"sha256": tokenizer.sha256, "training_sha256": training_sha256}
    files.write_atomic(temporary / _IDENTITY, json.dumps(identity) + "\n")
    os.replace(temporary, folder)
    files.sync(directory)


def load(directory, *, sha256):
    """Return the tokenizer of a prepared folder.

    Raises:
        InputError: it is not the one with hash `sha256`.
    """
    folder = directory / shards.TOKENIZER
    tokenizer = tokenizers.Tokenizer.from_directory(folder)
    if tokenizer.sha256 != sha256:
        raise InputError(
            f"{folder} is not the tokenizer the shards were made with: "
            "prepare the books again"
        )
    return tokenizer


def check(tokenizer_type):
    """Raise InputError where `tokenizer_type` cannot be trained."""
    if tokenizer_type not in _TRAINERS:
        raise InputError(
            f"TOKENIZER_TYPE is {tokenizer_type!r}: give one of "
            f"{', '.join(_TRAINERS)}"
        )


def train(
    scan,
    directory,
    *,
    tokenizer_type,
    vocabulary_size,
    held_out_fraction,
    seed,
):
    """Train a tokenizer on the training books and save it in `directory`.

    A run that was stopped later finds it there and does not train again.

    Args:
        scan: scanning.Scan.
        directory: pathlib.Path of the folder being prepared.
        tokenizer_type: "bpe" or "wordpiece".
        vocabulary_size: int.
        held_out_fraction: float, as for `held_out.choose`.
        seed: int, as for `held_out.choose`.

    Returns:
        Tokenizer.
    """
    kept_out = held_out.choose(
        scan.names, fraction=held_out_fraction, seed=seed
    )
    sources = [s for s in scan.sources if s.name not in set(kept_out)]
    wanted = [tokenizer_type, vocabulary_size, [s.sha256 for s in sources]]
    training_sha256 = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
    folder = directory / shards.TOKENIZER
    if _identity(folder).get("training_sha256") == training_sha256:
        return tokenizers.Tokenizer.from_directory(folder)
    logging.info(
        "training a %s tokenizer on %d books", tokenizer_type, len(sources)
    )
    tokenizer = _TRAINERS[tokenizer_type](
        encoding.texts(sources), vocabulary_size=vocabulary_size
    )
    save(tokenizer, directory, training_sha256=training_sha256)
    return tokenizer


def _identity(folder):
    try:
        return json.loads((folder / _IDENTITY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
