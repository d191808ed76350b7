"""The word lists, sentences, events and plots, read from their files."""

import functools
import pathlib

FOLDER = pathlib.Path(__file__).parent


@functools.cache
def sections(name):
    """Return {section: [line, ...]} of the file `name`.txt in this folder.

    A section starts with `[name]` alone on a line; `#` starts a comment line;
    empty lines mean nothing.
    """
    found = {}
    lines = None
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]") and "|" not in line:
            lines = found.setdefault(line[1:-1], [])
        elif lines is None:
            raise ValueError(f"{name}.txt:{number}: text before a section")
        else:
            lines.append(line)
    return found


@functools.cache
def words(name):
    """Return the word list `name` of words.txt: entries between commas."""
    lines = sections("words")[name]
    entries = tuple(
        entry.strip()
        for line in lines
        for entry in line.split(",")
        if entry.strip()
    )
    if len(set(entries)) != len(entries):
        raise ValueError(f"words.txt: [{name}] holds an entry twice")
    return entries


@functools.cache
def rows(name):
    """Return the table `name` of words.txt: tuples of the fields at `;`."""
    return tuple(
        tuple(field.strip() for field in line.split(";"))
        for line in sections("words")[name]
    )
