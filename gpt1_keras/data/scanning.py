"""The files of a corpus, checked and hashed before anything else is done."""

import dataclasses
import os

from absl import logging

from gpt1_keras import progress
from gpt1_keras.data import books
from gpt1_keras.errors import InputError


@dataclasses.dataclass(frozen=True)
class Source:
    """A book's file as it was checked."""

    name: str
    path: str
    size: int
    mtime_ns: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Scan:
    """All files of a corpus, read once.

    Attributes:
        sources: list of Source, the books.
        skipped: list of dicts of name and reason, the other files.
    """

    sources: list
    skipped: list

    @property
    def names(self):
        return [source.name for source in self.sources]


def scan(files):
    """Check all files and hash them.

    Args:
        files: dict from name to path.

    Returns:
        Scan.

    Raises:
        InputError: not one file is a book.
    """
    sources, skipped = [], []
    total = sum(os.path.getsize(path) for path in files.values())
    with progress.bar("checking books", total) as advance:
        for name, path in files.items():
            state = os.stat(path)
            try:
                _, sha256 = books.check(path)
            except books.BrokenBook as error:
                logging.warning("skipped %s: %s", path, error)
                skipped.append({"name": name, "reason": str(error)})
            else:
                sources.append(
                    Source(
                        name,
                        str(path),
                        state.st_size,
                        state.st_mtime_ns,
                        sha256,
                    )
                )
            advance(state.st_size)
    if not sources:
        reasons = "; ".join(f"{s['name']}: {s['reason']}" for s in skipped[:3])
        raise InputError(f"none of {len(files)} files is a book ({reasons})")
    return Scan(sources, skipped)
