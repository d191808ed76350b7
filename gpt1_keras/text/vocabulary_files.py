"""The files a vocabulary lives in, read and written.

Byte pairs: a JSON object from piece to id, and a text file of merges (a header
line, then one pair a line), as OpenAI released them. WordPiece: a text file
with one piece a line, as BERT has it.
"""

import json
import pathlib

from gpt1_keras import errors
from gpt1_keras import files

BYTE_PAIR_VOCABULARY = "vocabulary.json"
MERGES = "merges.txt"
WORD_PIECE_VOCABULARY = "vocabulary.txt"
NAMES = (BYTE_PAIR_VOCABULARY, MERGES, WORD_PIECE_VOCABULARY)
_HEADER = "#version: 0.2"


def read_byte_pairs(path):
    """Return the list of pieces by id of a JSON vocabulary."""
    try:
        ids = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise errors.InputError(
            f"{path}: line {error.lineno}: not JSON ({error.msg}); a byte-pair "
            "vocabulary is a JSON object from piece to id"
        ) from None
    if not isinstance(ids, dict) or not ids:
        raise errors.InputError(
            f"{path}: a byte-pair vocabulary is a JSON object from piece to id"
        )
    pieces = dict(
        sorted(
            (index, piece) for piece, index in ids.items() if type(index) is int
        )
    )
    if list(pieces) != list(range(len(ids))):
        raise errors.InputError(
            f"{path}: ids must be 0 to {len(ids) - 1}, each once"
        )
    return list(pieces.values())


def read_merges(path):
    """Return the list of (left, right) of a file of merges."""
    merges = []
    for number, line in enumerate(_read(path).split("\n")[1:], start=2):
        if not line:
            continue
        pair = tuple(line.split())
        if len(pair) != 2:
            raise errors.InputError(
                f"{path}: line {number}: expected two pieces with one space "
                f"between them, found {line[:40]!r}"
            )
        merges.append(pair)
    return merges


def read_word_pieces(path):
    """Return the list of pieces by id of a WordPiece vocabulary."""
    pieces = _read(path).split("\n")
    while pieces and not pieces[-1]:
        pieces.pop()
    known = {}
    for number, piece in enumerate(pieces, start=1):
        if not piece or piece in known:
            what = f"a second {piece!r}" if piece else "an empty line"
            raise errors.InputError(
                f"{path}: line {number}: {what}; a WordPiece vocabulary has "
                "one piece a line, each once"
            )
        known[piece] = number
    if not pieces:
        raise errors.InputError(f"{path}: empty vocabulary")
    return pieces


def write_byte_pairs(directory, pieces, merges):
    """Write `vocabulary.json` and `merges.txt` into `directory`."""
    directory = _made(directory)
    ids = {piece: index for index, piece in enumerate(pieces)}
    files.write_atomic(directory / BYTE_PAIR_VOCABULARY, json.dumps(ids))
    lines = [_HEADER, *(" ".join(pair) for pair in merges), ""]
    files.write_atomic(directory / MERGES, "\n".join(lines))


def write_word_pieces(directory, pieces):
    """Write `vocabulary.txt` into `directory`."""
    files.write_atomic(
        _made(directory) / WORD_PIECE_VOCABULARY, "\n".join([*pieces, ""])
    )


def _made(directory):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _read(path):
    try:
        return (
            pathlib.Path(path)
            .read_bytes()
            .decode("utf-8")
            .replace("\r\n", "\n")
        )
    except OSError as error:
        raise errors.InputError(
            f"{path}: {error.strerror}; give the path of a vocabulary file"
        ) from None
    except UnicodeDecodeError as error:
        raise errors.InputError(
            f"{path}: not UTF-8 at byte {error.start}; give a text file"
        ) from None
