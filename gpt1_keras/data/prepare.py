"""Prepare `.txt` books as token shards, with a tokenizer and held-out books.

`open_corpus` opens a prepared folder, or prepares books on first use.
"""

import contextlib
import dataclasses
import functools
import json
import pathlib
import shutil

import numpy as np
from absl import logging

from gpt1_keras import console
from gpt1_keras import files as files_lib
from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import shards
from gpt1_keras.data import split
from gpt1_keras.errors import InputError
from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary

SHARD_TOKENS = 1 << 27
OVERLAP_LIMIT = 0.05
_LARGE_OVERLAP = 0.25  # The sample corpus, made of patterns, has 0.17.
_READ_TOKENS = 1 << 20
_IDENTITY = "identity.json"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What turns books into a corpus: the vocabulary and the split."""

    # None: one of this type and size is trained on the training books.
    tokenizer: object = None
    tokenizer_type: str | None = None
    vocabulary_size: int | None = None
    held_out_fraction: float = 0  # share of the books, below 1
    split_seed: int = 0
    # Names of the held-out books, in place of a fraction and a seed.
    held_out_books: tuple | None = None

    @property
    def named(self):
        """The last items of an identity: the list of named books, if any."""
        named = self.held_out_books
        return [] if named is None else [sorted(named)]

    def held_out(self, names):
        """Return the held-out books among `names`."""
        if self.held_out_books is not None:
            return split.find(names, self.held_out_books)
        return split.choose(
            names, fraction=self.held_out_fraction, seed=self.split_seed
        )


def prepare(
    files,
    directory,
    recipe,
    *,
    shard_tokens=SHARD_TOKENS,
    piece_bytes=books.PIECE_BYTES,
    distribute=encode.in_processes,
    wait=False,
):
    """Tokenise books into `directory`; resume where a killed run stopped.

    Files that are not books are skipped, logged and listed in the index. Until
    the end, the disk holds the ids twice. Raises InputError if no book is
    usable, or if the folder holds a different corpus or is in use.

    Args:
        files: {name: path} (`books.find_books`), or list of files and folders.
        shard_tokens: int, ids of a full shard.
        piece_bytes: int, size of the text that a process encodes at once.
        distribute: `encode.in_processes`, or what `encode.in_beam` returns.
        wait: bool. Whether to wait while another process uses the folder.
    """
    if not isinstance(files, dict):
        output = pathlib.Path(directory).resolve()
        if output in [pathlib.Path(path).resolve() for path in files]:
            raise InputError(f"{output} holds the books: choose another folder")
        files = books.find_books(files)
    found, skipped = books.check_all(files)
    recipe.held_out([book.name for book in found])  # Refuses unknown names.
    directory = files_lib.make_folder(directory)
    is_begun = (directory / shards.TOKENIZER / _IDENTITY).exists()
    others = {path.name for path in directory.glob("[!.]*")} - {"config.gin"}
    if others and not (is_begun or shards.is_prepared(directory)):
        raise InputError(
            f"{directory} is neither empty nor a prepared corpus: choose"
            " another folder"
        )
    with exclusive(directory, wait=wait):
        tokenizer = find_or_train_tokenizer(found, directory, recipe)
        hashes = [(book.name, book.sha256) for book in found]
        identity = [shards.FORMAT, tokenizer.sha256]
        identity += [recipe.held_out_fraction, recipe.split_seed]
        identity += [shard_tokens, piece_bytes, hashes, *recipe.named]
        request = files_lib.sha256_of_json(identity)
        scratch = directory / encode.PIECES
        if shards.is_prepared(directory):
            shutil.rmtree(scratch, ignore_errors=True)
            prepared = shards.Shards.open(directory)
            if prepared.index.get("request") != request:
                raise _other_corpus(directory)
            logging.info("%s is already prepared", directory)
            return prepared
        if recipe.tokenizer is not None:
            _save(tokenizer, directory)
        dtype = shards.token_dtype(tokenizer.vocabulary_size)
        tasks = encode.tasks_of(found, piece_bytes)
        paths = _encode(tasks, scratch, tokenizer, dtype, distribute)
        pieces = (encode.read_piece(path, dtype) for path in paths)
        entries, counts = shards.write(directory, pieces, shard_tokens)
        listed, without_text = _listed(found, tasks, counts, shard_tokens)
        skipped += without_text
        if not listed:
            raise InputError(f"no text in any of {len(skipped)} files")
        index = {
            "format": shards.FORMAT,
            "request": request,
            "vocabulary_size": tokenizer.vocabulary_size,
            "dtype": dtype.name,
            "tokenizer": {"type": tokenizer.type, "sha256": tokenizer.sha256},
            "held_out_fraction": recipe.held_out_fraction,
            "seed": recipe.split_seed,
            "total": None,
            "shard_tokens": shard_tokens,
            "shards": entries,
            "skipped": sorted(skipped, key=lambda file: file["name"]),
            "books": listed,
        }
        if recipe.held_out_books is not None:
            index["held_out_books"] = sorted(recipe.held_out_books)
        _split(directory, index, recipe)
        index["total"] = _totals(listed, skipped)
        num_tokens, num_unknown, *_ = np.sum(counts, axis=0)
        subwords.warn_of_unknown("books", num_unknown, num_tokens)
        text = json.dumps(index, indent=1, ensure_ascii=False)
        files_lib.write_atomic(directory / shards.INDEX, text + "\n")
        shutil.rmtree(scratch)
        return shards.Shards(directory, index)


# Not the lock of a workdir, so that a run can prepare its own workdir.
exclusive = functools.partial(files_lib.exclusive, name=".lock")


def _other_corpus(directory):
    return InputError(
        f"{directory} holds a corpus prepared from other books or with other"
        " settings: choose another folder"
    )


def _encode(tasks, folder, tokenizer, dtype, distribute):
    """Encode pieces that have no file in `folder` yet; return all files."""
    folder.mkdir(exist_ok=True)
    paths = [encode.piece_path(folder, tokenizer, *task) for task in tasks]
    there = set(folder.iterdir())
    for path in there.difference(paths):  # of other books, or incomplete
        path.unlink()
    left = [task for task, path in zip(tasks, paths) if path not in there]
    if left:
        write = functools.partial(encode.write_piece, folder, tokenizer, dtype)
        total = encode.total_bytes(tasks)
        done = total - encode.total_bytes(left)
        with console.bar("tokenising books", total, done=done) as advance:
            for size in distribute(write, left):
                advance(size)
    return paths


def _listed(found, tasks, counts, shard_tokens):
    """Return the index's books, all of split "train", and skipped files."""
    sums = {book.name: np.zeros(4, np.int64) for book in found}
    for (book, _), counted in zip(tasks, counts, strict=True):
        sums[book.name] += counted
    listed, skipped, place = [], [], 0
    for book in found:
        tokens, _, words, size = sums[book.name].tolist()
        if not tokens:
            logging.warning("skipped %s: no text in it", book.name)
            skipped.append({"name": book.name, "reason": "no text in it"})
            continue
        shard, offset = divmod(place, shard_tokens)
        entry = {"name": book.name, "sha256": book.sha256, "split": "train"}
        entry |= {"shard": shard, "offset": offset}
        entry |= {"tokens": tokens, "words": words, "bytes": size}
        listed.append(entry)
        place += tokens
    return listed, skipped


def _split(directory, index, recipe):
    """Set "split" and "overlap" of the books in an index."""
    listed = {book["name"]: book for book in index["books"]}
    everything = shards.Split(directory, index, "all")
    number = {name: i for i, name in enumerate(listed)}

    def read(name):
        for start in range(0, listed[name]["tokens"], _READ_TOKENS):
            yield everything.read(number[name], start, start + _READ_TOKENS)

    chosen = recipe.held_out(listed)
    # Named books stay held out, whatever their overlap.
    limit = OVERLAP_LIMIT if recipe.held_out_books is None else 1.0
    kept, moved = split.overlaps(chosen, listed, read, limit=limit)
    for name, overlap in (kept | moved).items():
        listed[name]["overlap"] = round(overlap, 6)
        if name in kept:
            listed[name]["split"] = "held_out"
        if name in moved or overlap > _LARGE_OVERLAP:
            state = "held out" if name in kept else "not held out"
            logging.warning(
                f"{name} is {state}: {100 * overlap:.0f} % of it occurs in"
                " other books"
            )


def _totals(listed, skipped):
    total = {"books": len(listed), "skipped": len(skipped)}
    for name in ("tokens", "words"):
        total[name] = sum(book[name] for book in listed)
    for name in ("train", "held_out"):
        tokens = [b["tokens"] for b in listed if b["split"] == name]
        total[f"{name}_books"] = len(tokens)
        total[f"{name}_tokens"] = sum(tokens)
    return total


def _save(tokenizer, directory, **identity):
    """Write the folder `tokenizer/`, with the `identity` of its training."""
    with files_lib.new_folder(directory / shards.TOKENIZER) as new:
        tokenizer.save(new)
        files_lib.write_atomic(new / _IDENTITY, json.dumps(identity) + "\n")


def tokenizer_of(directory, recipe, *, sha256):
    """Return the tokenizer of a recipe or else a folder; check its hash."""
    tokenizer = recipe.tokenizer or tokenizer_lib.Tokenizer.from_directory(
        directory / shards.TOKENIZER
    )
    if tokenizer.sha256 != sha256:
        raise InputError(
            f"{directory} was prepared with another tokenizer ({sha256[:12]},"
            f" not {tokenizer.sha256[:12]}): give that one or the books"
            " themselves, or prepare them again"
        )
    return tokenizer


def find_or_train_tokenizer(found, directory, recipe):
    """Return the tokenizer of a recipe, or one trained on the training books.

    `found` are all books as `books.Book`. A trained tokenizer is saved in
    `directory`, where a resumed run finds it.
    """
    if recipe.tokenizer is not None:
        return recipe.tokenizer
    held_out = set(recipe.held_out([book.name for book in found]))
    training = [book for book in found if book.name not in held_out]
    kind, size = recipe.tokenizer_type, recipe.vocabulary_size
    hashes = [book.sha256 for book in training]
    training_sha256 = files_lib.sha256_of_json([kind, size, hashes])
    folder = directory / shards.TOKENIZER
    saved = {}
    with contextlib.suppress(OSError, ValueError):
        saved = files_lib.parse_json((folder / _IDENTITY).read_bytes())
    if saved.get("training_sha256") == training_sha256:
        return tokenizer_lib.Tokenizer.from_directory(folder)
    if shards.is_prepared(directory):
        raise _other_corpus(directory)
    logging.info("training a %s tokenizer on %d books", kind, len(training))
    tokenizer = train_vocabulary.TRAINERS[kind](
        encode.count_words(training), vocabulary_size=size
    )
    _save(tokenizer, directory, training_sha256=training_sha256)
    return tokenizer


def open_corpus(corpus, recipe):
    """Return (`Shards`, `Tokenizer`) of a prepared folder or of `.txt` books.

    `corpus` is the path of that folder, or of a folder or file of books, which
    are prepared on first use in the cache (`files.cache_root`).
    """
    directory = pathlib.Path(corpus)
    if not shards.is_prepared(directory):
        if (directory / encode.PIECES).exists():
            raise InputError(
                f"`corpus` {directory} is only partly prepared: run the "
                "command that prepares it again"
            )
        files = books.find_books([directory])
        directory = cache_folder("corpus", files, recipe)
        logging.info("corpus %s: its shards are in %s", corpus, directory)
        if not shards.is_prepared(directory):
            prepare(files, directory, recipe, wait=True)
    prepared = shards.Shards.open(directory)
    named, found = recipe.held_out_books, prepared.index.get("held_out_books")
    if named is not None and sorted(named) != found:
        raise InputError(
            f"`held_out_books` are not those of the prepared {directory}: "
            "leave them out, or pass the .txt books"
        )
    sha256 = prepared.index["tokenizer"]["sha256"]
    tokenizer = tokenizer_of(directory, recipe, sha256=sha256)
    wanted = None if recipe.tokenizer else recipe.vocabulary_size
    if wanted and tokenizer.vocabulary_size > wanted:
        logging.warning(
            f"{directory} was prepared with {tokenizer.vocabulary_size:,}"
            f" tokens, not the {wanted:,} of `vocabulary_size`: prepare it"
            " again for a smaller network"
        )
    return prepared, tokenizer


def cache_folder(kind, files, recipe):
    """Create and return the cache folder of files {name: path} and a recipe."""
    listing = [[name, *books.stamp(path)] for name, path in files.items()]
    vocabulary = [recipe.tokenizer_type, recipe.vocabulary_size]
    if recipe.tokenizer is not None:
        vocabulary = [recipe.tokenizer.sha256]
    chosen = [recipe.held_out_fraction, recipe.split_seed, *recipe.named]
    identity = [shards.FORMAT, books.CLEANING, listing, [vocabulary, *chosen]]
    key = files_lib.sha256_of_json(identity)
    return files_lib.make_folder(files_lib.cache_root() / f"{kind}_{key[:16]}")
