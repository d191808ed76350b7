"""From `.txt` books to a prepared corpus, and from a corpus's name to both."""

import hashlib
import json
import os
import pathlib

from absl import logging

from gpt1_keras import files as files_lib
from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import prepare as prepare_lib
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError


def prepare(
    files,
    tokenizer,
    directory,
    *,
    held_out_fraction,
    seed,
    tokenizer_type=None,
    vocabulary_size=None,
    num_processes=None,
    shard_tokens=prepare_lib.SHARD_TOKENS,
    piece_bytes=prepare_lib.PIECE_BYTES,
    encode_pieces=None,
    wait=False,
):
    """Tokenise books into `directory`, going on where a killed run stopped.

    Files that are no books are named in the log, skipped and counted in the
    index. Memory is bounded by a few pieces of text for each process.

    Args:
        files: dict from name to path (`books.find_books`), or list of files
            and folders.
        tokenizer: Tokenizer; None trains one on the training books.
        directory: path of the folder to fill.
        held_out_fraction: float in [0, 1), share of books not trained on.
        seed: int, chooses the held-out books.
        tokenizer_type: "bpe" or "wordpiece", of a tokenizer to be trained.
        vocabulary_size: int, of a tokenizer to be trained.
        num_processes: int; None takes all processors on much text.
        shard_tokens: int, ids of a full shard.
        piece_bytes: int, text that one process takes at once.
        encode_pieces: as `beam_encoding.BeamEncoding`; None: processes here.
        wait: bool, whether to wait for another process that prepares this
            folder or to refuse.

    Returns:
        Shards.

    Raises:
        InputError: no book is usable, another process prepares this folder,
            or it holds another prepared corpus.
    """
    if not isinstance(files, dict):
        files = books.find_books(files)
    if tokenizer is None:
        prepare_lib.check_tokenizer(tokenizer_type)
    found = encode.scan(files)
    split = {"held_out_fraction": held_out_fraction, "seed": seed}
    prepare_lib.choose_held_out(
        found.names, fraction=held_out_fraction, seed=seed
    )
    directory = _make_folder(directory)
    with files_lib.exclusive(directory, wait=wait):
        if tokenizer is None:
            tokenizer = prepare_lib.train_tokenizer(
                found,
                directory,
                tokenizer_type=tokenizer_type,
                vocabulary_size=vocabulary_size,
                **split,
            )
        return prepare_lib.Preparation(
            found,
            tokenizer,
            directory,
            num_processes=num_processes,
            shard_tokens=shard_tokens,
            piece_bytes=piece_bytes,
            encode_pieces=encode_pieces,
            **split,
        ).run()


def open_corpus(
    corpus,
    *,
    tokenizer=None,
    tokenizer_type,
    vocabulary_size,
    held_out_fraction,
    seed=0,
    cache_dir=None,
):
    """Open a prepared folder, or a folder of `.txt` prepared on first use.

    The prepared form of a folder of `.txt` lies in a cache and serves every
    later run with the same files, tokenizer and split. Without a tokenizer
    one is trained on the training books.

    Args:
        corpus: path of a prepared folder, a folder of `.txt` or one `.txt`.
        tokenizer: Tokenizer or None.
        tokenizer_type: "bpe" or "wordpiece", of a tokenizer to be trained.
        vocabulary_size: int, of a tokenizer to be trained.
        held_out_fraction: float in [0, 1), share of books not trained on.
        seed: int, chooses the held-out books.
        cache_dir: path; None takes $GPT1_KERAS_CACHE or ~/.cache/gpt1_keras.

    Returns:
        (Shards, Tokenizer).

    Raises:
        InputError: there is no corpus, or it does not fit the tokenizer.
    """
    corpus = pathlib.Path(corpus).expanduser()
    if shards.is_prepared(corpus):
        return _open_prepared(corpus, tokenizer)
    if (corpus / shards.JOURNAL).exists():
        raise InputError(
            f"CORPUS {corpus} is prepared only in part: run its prepare again"
        )
    files = find_corpus(corpus)
    identity = [tokenizer_type, vocabulary_size]
    if tokenizer is not None:
        identity = [tokenizer.sha256]
    directory = cache_folder(
        "corpus", files, [identity, held_out_fraction, seed], cache_dir
    )
    if shards.is_prepared(directory):
        logging.info("corpus %s was prepared before: %s", corpus, directory)
    else:
        logging.info("corpus %s is prepared into %s", corpus, directory)
        prepare(
            files,
            tokenizer,
            directory,
            held_out_fraction=held_out_fraction,
            seed=seed,
            tokenizer_type=tokenizer_type,
            vocabulary_size=vocabulary_size,
            wait=True,
        )
    return _open_prepared(directory, tokenizer)


def _open_prepared(directory, tokenizer):
    wanted = None if tokenizer is None else tokenizer.sha256
    prepared = shards.Shards.open(directory, tokenizer_sha256=wanted)
    if tokenizer is None:
        tokenizer = prepare_lib.load_tokenizer(
            directory, sha256=prepared.tokenizer_sha256
        )
    return prepared, tokenizer


def _make_folder(directory):
    directory = pathlib.Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{directory} cannot be made a folder ({error.strerror}): give "
            "another"
        ) from error
    return directory


def find_corpus(corpus):
    """Return the books of `corpus` (pathlib.Path) as `books.find_books`.

    Raises:
        InputError: there are none; the message speaks of CORPUS.
    """
    if not corpus.exists():
        raise InputError(
            f"CORPUS {corpus} does not exist: give a folder of .txt books or "
            "a prepared one"
        )
    if corpus.is_dir() and not any(corpus.iterdir()):
        raise InputError(f"CORPUS {corpus} is empty: put .txt books there")
    try:
        return books.find_books([corpus])
    except InputError as error:
        raise InputError(
            f"CORPUS: {error} and no {shards.INDEX}: give a folder of .txt "
            "books or a prepared one"
        ) from error


def cache_root(cache_dir=None):
    """Return the folder that keeps what is prepared on first use.

    Args:
        cache_dir: path; None takes $GPT1_KERAS_CACHE or ~/.cache/gpt1_keras.
    """
    root = cache_dir or os.environ.get("GPT1_KERAS_CACHE")
    return pathlib.Path(root or "~/.cache/gpt1_keras").expanduser()


def cache_folder(kind, files, settings, cache_dir=None):
    """Make and return the folder in the cache for what is made of books.

    Args:
        kind: str, the beginning of its name.
        files: dict from name to path; names, sizes and times count.
        settings: whatever else it is made with, as for `json.dumps`.
        cache_dir: path; None as for `cache_root`.
    """
    listing = []
    for name, path in files.items():
        state = path.stat()
        listing.append([name, state.st_size, state.st_mtime_ns])
    identity = [shards.FORMAT, listing, settings]
    text = json.dumps(identity, ensure_ascii=False)
    key = hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    return _make_folder(cache_root(cache_dir) / f"{kind}_{key}")
