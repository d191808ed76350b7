"""Write the books of the sample world to a folder, as plain text files."""

import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

from rich import progress

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.data.sample_world import books

DEFAULT_WORDS = 2_100_000
WORDS_PER_BOOK = 75_000
# So that a small corpus, too, has books to train on and books to hold out.
MIN_BOOKS = 4
MANIFEST = "sample_world.json"
_SOURCE = pathlib.Path(__file__).parent


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
    manifest = {"seed": seed, "words": words, "generator": source_sha256()}
    names = _check(directory, manifest)
    if names is None:
        directory.parent.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.mkdtemp(
            dir=directory.parent, prefix=f".{directory.name}."
        )
        os.chmod(temporary, 0o755)
        try:
            names = _write_books(pathlib.Path(temporary), words, seed)
            text = json.dumps({**manifest, "books": names}, indent=2)
            files.write_atomic(pathlib.Path(temporary, MANIFEST), f"{text}\n")
            _put_in_place(temporary, directory, manifest)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return [directory / name for name in names]


def source_sha256():
    """Return the hash of this package's files: the generator's identity."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCE.iterdir()):
        if path.suffix in (".py", ".txt"):
            digest.update(path.name.encode("utf-8"))
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _check(directory, manifest):
    """Return the names of the books if the folder holds this corpus, None if
    it is free; raise where it holds something else."""
    if not directory.exists() or not any(directory.iterdir()):
        return None
    try:
        text = (directory / MANIFEST).read_text(encoding="utf-8")
        found = json.loads(text)
        names = found.pop("books")
    except (OSError, ValueError, KeyError, AttributeError):
        raise errors.InputError(
            f"{directory} holds files that are not a sample corpus: give an "
            f"empty folder"
        ) from None
    if found != manifest or not all((directory / n).exists() for n in names):
        raise errors.InputError(
            f"{directory} holds another sample corpus (seed "
            f"{found.get('seed')}, {found.get('words')} words, perhaps an "
            f"older generator): remove it or give another folder"
        )
    return names


def _put_in_place(temporary, directory, manifest):
    try:
        os.replace(temporary, directory)
    except OSError:
        # Another process may have put the same corpus there meanwhile.
        if not directory.exists() or _check(directory, manifest) is None:
            raise
        return
    files.sync(directory.parent)


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
