"""Reading and writing the files of a vocabulary.

Byte pairs, as OpenAI released them: a JSON object from piece to id, and a text
file of merges (a header line, then one pair a line). WordPiece, as in BERT: a
text file with one piece a line.
"""

import json
import pathlib
import re

from gpt1_keras import errors
from gpt1_keras import files

BYTE_PAIR_VOCABULARY = "vocabulary.json"
MERGES = "merges.txt"
WORD_PIECE_VOCABULARY = "vocabulary.txt"
UNKNOWN_WORD_PIECE = "[UNK]"
NAMES = (BYTE_PAIR_VOCABULARY, MERGES, WORD_PIECE_VOCABULARY)
_HEADER = "#version: 0.2"


def read_byte_pairs(path):
    """Return the list of pieces by id of a JSON vocabulary."""
    text = _read(path)
    try:
        ids = files.parse_json(text)
        if not ids:
            raise ValueError("empty")
    except ValueError as error:
        raise errors.InputError(
            f"{path}: {error}; a byte-pair vocabulary is a JSON object from"
            " piece to id"
        ) from None
    pieces = {index: p for p, index in ids.items() if type(index) is int}
    if sorted(pieces) != list(range(len(ids))):
        raise errors.InputError(
            f"{path}: ids must be 0 to {len(ids) - 1}, each once"
        )
    if any(re.search("[\ud800-\udfff]", piece) for piece in ids):
        raise errors.InputError(f"{path}: a piece is not valid UTF-8")
    return [pieces[index] for index in range(len(ids))]


def read_merges(path):
    """Return the list of (left, right) of a merges file."""
    merges = []
    for number, line in enumerate(_read(path).split("\n")[1:], start=2):
        if not line:
            continue
        pair = tuple(line.split())
        if len(pair) != 2:
            raise errors.InputError(
                f"{path}: line {number}: expected two pieces separated by a "
                f"space, found {line[:40]!r}"
            )
        merges.append(pair)
    return merges


def read_word_pieces(path):
    """Return the list of pieces by id of a WordPiece vocabulary."""
    pieces = _read(path).rstrip("\n").split("\n")
    if pieces == [""]:
        raise errors.InputError(f"{path}: empty vocabulary")
    if pieces[0] != UNKNOWN_WORD_PIECE:
        raise errors.InputError(
            f"{path}: the first line is {errors.shortened(pieces[0])!r}; a"
            f" WordPiece vocabulary begins with {UNKNOWN_WORD_PIECE}"
        )
    known = set()
    for number, piece in enumerate(pieces, start=1):
        if not piece or piece in known:
            what = f"{piece!r} appears twice" if piece else "empty line"
            raise errors.InputError(
                f"{path}: line {number}: {what}; a WordPiece vocabulary has "
                "one piece a line, each once"
            )
        known.add(piece)
    return pieces


def write_byte_pairs(directory, pieces, merges):
    """Write `vocabulary.json` and `merges.txt` into `directory`."""
    ids = {piece: index for index, piece in enumerate(pieces)}
    lines = [_HEADER, *(" ".join(pair) for pair in merges), ""]
    _write(directory, BYTE_PAIR_VOCABULARY, json.dumps(ids))
    _write(directory, MERGES, "\n".join(lines))


def write_word_pieces(directory, pieces):
    """Write `vocabulary.txt` into `directory`."""
    _write(directory, WORD_PIECE_VOCABULARY, "\n".join([*pieces, ""]))


def _write(directory, name, text):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    files.write_atomic(directory / name, text)


def _read(path):
    try:
        text = pathlib.Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise errors.InputError(
            f"{path}: {error.strerror}; pass the path of a vocabulary file"
        ) from None
    except UnicodeDecodeError as error:
        raise errors.InputError(
            f"{path}: not UTF-8 at byte {error.start}; pass a text file"
        ) from None
    return text.replace("\r\n", "\n")
