"""Opening a corpus by its path: prepared shards, or a folder of books."""

import os
import pathlib

from absl import logging

from gpt1_keras import files as files_lib
from gpt1_keras.data import books
from gpt1_keras.data import prepare
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError


def open_corpus(corpus, recipe, *, cache_dir=None):
    """Return the (Shards, Tokenizer) of a path.

    It is a prepared folder, or a folder of `.txt` or one `.txt`, which are
    prepared on first use into a cache that serves all later runs with the same
    files and recipe: `cache_dir`, $GPT1_KERAS_CACHE or ~/.cache/gpt1_keras.

    Raises:
        InputError: there is no corpus, or it does not fit the tokenizer.
    """
    directory = pathlib.Path(corpus).expanduser()
    if not shards.is_prepared(directory):
        if (directory / shards.JOURNAL).exists():
            raise InputError(
                f"CORPUS {directory} is only partly prepared: run the command "
                "that prepares it again"
            )
        files = find_corpus(directory)
        directory = cache_folder("corpus", files, recipe, cache_dir)
        if shards.is_prepared(directory):
            logging.info("corpus %s: already prepared in %s", corpus, directory)
        else:
            logging.info("corpus %s: preparing it in %s", corpus, directory)
            prepare.prepare(files, directory, recipe, wait=True)
    tokenizer = recipe.tokenizer
    wanted = None if tokenizer is None else tokenizer.sha256
    prepared = shards.Shards.open(directory, tokenizer_sha256=wanted)
    if tokenizer is None:
        tokenizer = prepare.load_tokenizer(
            directory, sha256=prepared.tokenizer_sha256
        )
    return prepared, tokenizer


def find_corpus(corpus):
    """Return the books of a path as `books.find_books`, at least one."""
    if not corpus.exists():
        raise InputError(
            f"CORPUS {corpus} does not exist: pass a folder of .txt books or "
            "a prepared one"
        )
    if corpus.is_dir() and not any(corpus.iterdir()):
        raise InputError(f"CORPUS {corpus} is empty: put .txt books there")
    try:
        return books.find_books([corpus])
    except InputError as error:
        raise InputError(
            f"CORPUS: {error} and no {shards.INDEX}: pass a folder of .txt "
            "books or a prepared one"
        ) from error


def cache_root(cache_dir=None):
    """Return the folder of what is prepared on first use."""
    root = cache_dir or os.environ.get("GPT1_KERAS_CACHE")
    return pathlib.Path(root or "~/.cache/gpt1_keras").expanduser()


def cache_folder(kind, files, recipe, cache_dir=None):
    """Create and return the cache folder for a set of books and a recipe.

    `kind` is the prefix of its name. Names, sizes and times of the files, a
    dict from name to path, count.
    """
    listing = []
    for name, path in files.items():
        state = path.stat()
        listing.append([name, state.st_size, state.st_mtime_ns])
    key = files_lib.sha256_of_json([shards.FORMAT, listing, recipe.identity])
    return files_lib.make_folder(cache_root(cache_dir) / f"{kind}_{key[:16]}")
