"""Tables of the sample world, read from the text files beside this module."""

import functools
import pathlib

FOLDER = pathlib.Path(__file__).parent


def _entries(name):
    """Yield the entries of a file; an indented line continues an entry."""
    entry = ""
    for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("  "):
            entry = f"{entry} {line.strip()}"
            continue
        if entry:
            yield entry
        entry = "" if line.startswith("# ") else line.strip()
    if entry:
        yield entry


@functools.cache
def sections(name):
    """Return {section: (entry, ...)} of the file `name`.txt."""
    found = {}
    for entry in _entries(name):
        if entry.startswith("[") and entry.endswith("]") and "|" not in entry:
            section = found.setdefault(entry[1:-1], [])
        else:
            section.append(entry)
    return {key: tuple(entries) for key, entries in found.items()}


@functools.cache
def _lists():
    found = {}
    for entry in _entries("words"):
        name, _, text = entry.partition(": ")
        found.setdefault(name, []).append(text)
    return found


@functools.cache
def words(name):
    """Return the entries between commas of the list `name` of words.txt."""
    return tuple(", ".join(_lists()[name]).split(", "))


@functools.cache
def rows(name):
    """Return the rows `name` of words.txt: tuples of fields."""
    return tuple(tuple(row.split("; ")) for row in _lists()[name])
