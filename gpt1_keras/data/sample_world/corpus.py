"""Write the books of the sample world to a folder, as plain text files."""

import os
import pathlib
import sys

from rich import progress

from gpt1_keras import errors
from gpt1_keras.data.sample_world import books
from gpt1_keras.data.sample_world import generated_folder

DEFAULT_WORDS = 2_100_000
WORDS_PER_BOOK = 75_000
# So that a small corpus, too, has books to train on and books to hold out.
MIN_BOOKS = 4
MANIFEST = "sample_world.json"


def write_corpus(directory, *, words=DEFAULT_WORDS, seed=0):
    """Write books of at least `words` words in all; return their paths.

    The same seed and words give the same bytes everywhere. The folder appears
    whole or not at all, with a manifest beside the books; where it already
    holds this very corpus, nothing is written.

    Args:
        directory: folder that does not exist yet, is empty, or holds this
            corpus.
        words: total number of words, at least 4,000.
        seed: int.

    Returns:
        List of pathlib.Path, one .txt file for each book: UTF-8, a paragraph
        per line, an empty line between paragraphs.

    Raises:
        errors.InputError: the folder holds something else, or `words` is too
            small.
    """
    directory = pathlib.Path(directory)
    if words < 4_000:
        raise errors.InputError(
            f"a sample corpus of {words} words is too small: ask for 4000 or "
            f"more"
        )
    names = generated_folder.write_once(
        directory,
        lambda folder: _write_books(folder, words, seed),
        settings={"seed": seed, "words": words},
        manifest=MANIFEST,
        kind="sample corpus",
        listed="books",
    )
    return [directory / name for name in names]


def source_sha256():
    """Return the hash of this package's files: the generator's identity."""
    return generated_folder.source_sha256()


def _write_books(folder, words, seed):
    """Write all books chapter by chapter; return their file names."""
    count = max(MIN_BOOKS, round(words / WORDS_PER_BOOK))
    names = []
    with _progress() as bar:
        task = bar.add_task("sample world: writing books", total=count)
        for index in range(count):
            book = books.Book(seed, index, words=-(-words // count))
            name = f"{index + 1:02d}_{_file_name(book.title)}.txt"
            _write_book(folder / name, book)
            names.append(name)
            bar.advance(task)
            if bar.disable and (index + 1) % 7 == 0:
                print(
                    f"sample world: {index + 1} of {count} books written",
                    file=sys.stderr,
                )
    return names


def _write_book(path, book):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for paragraph in book.paragraphs():
            file.write(f"{paragraph}\n\n")
        file.flush()
        os.fsync(file.fileno())


def _progress():
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        disable=not sys.stderr.isatty(),
    )


def _file_name(title):
    return "".join(c if c.isalnum() else "_" for c in title.lower())
