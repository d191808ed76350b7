"""Sub-word encoders of single words, and the files of their vocabularies.

Byte pairs have OpenAI's format: a JSON object from piece to id, and a text file
of merges (a header, then one pair per line). WordPiece has BERT's format: a
text file with one piece per line. Hugging Face `tokenizers` does the encoding;
whatever the vocabulary lacks gets id 0.
"""

import functools
import re

import tokenizers
from absl import logging

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.text import words

BYTE_PAIR_VOCABULARY = "vocabulary.json"
MERGES = "merges.txt"
WORD_PIECE_VOCABULARY = "vocabulary.txt"
NAMES = (BYTE_PAIR_VOCABULARY, MERGES, WORD_PIECE_VOCABULARY)
UNKNOWN_ID = 0
END_OF_WORD = "</w>"
CONTINUATION = "##"
MAX_WORD_CHARACTERS = 100  # of a WordPiece word
_MANY_UNKNOWN = 0.01  # of all tokens
_read = functools.partial(files.read_text, "vocabulary")


def warn_of_unknown(
    name,
    num_unknown,
    num_tokens,
    so="the model cannot tell them apart (docs/recipes.md: a"
    " language other than English)",
):
    """Warn if more than 1 % of the tokens are unknown to the vocabulary."""
    if num_unknown > _MANY_UNKNOWN * num_tokens:
        logging.warning(
            f"{name}: {100 * num_unknown / num_tokens:.0f} % of the tokens are"
            f" unknown to the vocabulary: {so}"
        )


class BytePair:
    """Byte-pair encoder, as in the released code.

    A word starts as its characters, the last one marked with `</w>`. As long
    as it has learned pairs, the one learned first is merged everywhere in it.

    Reference: Sennrich et al. 2016; finetune-transformer-lm text_utils.py.

    Args:
        ids: dict from piece to id.
        merges: list of (left, right), the first learned first.
    """

    type = "bpe"
    unknown = "<unk>"
    newline = words.NEWLINE + END_OF_WORD

    def __init__(self, ids, merges):
        self._ids = ids
        # The library requires an entry for each piece that a merge yields.
        known = dict.fromkeys([*ids, self.unknown])
        for left, right in merges:
            known |= dict.fromkeys((left, right, left + right))
        self._model = tokenizers.models.BPE(
            {piece: number for number, piece in enumerate(known)},
            merges,
            unk_token=self.unknown,
            end_of_word_suffix=END_OF_WORD,
        )

    def encode_word(self, word):
        pieces = self._model.tokenize(word)
        return tuple(self._ids.get(p.value, UNKNOWN_ID) for p in pieces)

    def join(self, pieces):
        """Return the words that pieces spell, as a list."""
        spelled = "".join(pieces).split(END_OF_WORD)
        return spelled if spelled[-1] else spelled[:-1]

    def readable(self, piece):
        """Return a piece with a space where its word ends."""
        return piece.replace(END_OF_WORD, " ")


class WordPiece:
    """WordPiece encoder: longest match first.

    Pieces inside a word start with `##`. A word that the vocabulary cannot
    spell, or of more than 100 characters, becomes `[UNK]`. A line break is
    `[NEWLINE]`, since the file has one entry per line; no word equals it, since
    words are in lower case.

    Reference: Schuster and Nakajima 2012; BERT's tokenization.py.

    Args:
        ids: dict from piece to id.
    """

    type = "wordpiece"
    unknown = "[UNK]"
    newline = "[NEWLINE]"

    def __init__(self, ids):
        self._newline_id = ids.get(self.newline, UNKNOWN_ID)
        self._model = tokenizers.models.WordPiece(
            ids,
            unk_token=self.unknown,
            max_input_chars_per_word=MAX_WORD_CHARACTERS,
        )

    def encode_word(self, word):
        if word == words.NEWLINE:
            return (self._newline_id,)
        return tuple(token.id for token in self._model.tokenize(word))

    def join(self, pieces):
        spelled = []
        for piece in pieces:
            if piece == self.newline:
                spelled.append(words.NEWLINE)
            elif _continues(piece) and spelled:
                spelled[-1] += piece.removeprefix(CONTINUATION)
            else:
                spelled.append(piece)
        return spelled

    def readable(self, piece):
        """Return a piece with a space where its word begins."""
        if _continues(piece):
            return piece.removeprefix(CONTINUATION)
        return " " + piece


def _continues(piece):
    return piece.startswith(CONTINUATION) and piece != CONTINUATION


def read_byte_pairs(path):
    """Return the pieces of a JSON vocabulary, a list in the order of ids."""
    text = _read(path)
    try:
        ids = files.parse_json(text)
    except ValueError as error:
        raise errors.InputError(
            f"{path}: {error}; expected a JSON object from piece to id"
        ) from None
    return by_id(ids, path)


def by_id(ids, path):
    """Return the pieces of {piece: id} as a list; errors name `path`."""
    pieces = {index: p for p, index in ids.items() if type(index) is int}
    if not ids or sorted(pieces) != list(range(len(ids))):
        raise errors.InputError(
            f"{path}: a vocabulary of {len(ids)} pieces needs the ids 0, 1, 2"
            " ..., each once"
        )
    if re.search("[\ud800-\udfff]", "".join(ids)):
        raise errors.InputError(f"{path}: a piece is not valid UTF-8")
    return [pieces[index] for index in range(len(ids))]


def read_merges(path):
    """Return the list of (left, right) of a merges file."""
    merges = []
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        pair = tuple(line.split())
        if len(pair) != 2:
            raise errors.InputError(
                f"{path}: line {number}: expected two pieces separated by a"
                f" space, not {line[:40]!r}"
            )
        merges.append(pair)
    return merges


def read_word_pieces(path):
    """Return the pieces of a WordPiece vocabulary, in the order of ids."""
    pieces = _read(path).rstrip("\n").split("\n")
    if pieces[0] != WordPiece.unknown:
        raise errors.InputError(
            f"{path}: the first line is {errors.shortened(pieces[0])!r}; a"
            f" WordPiece vocabulary begins with {WordPiece.unknown}, a .json"
            " vocabulary needs its merges file: give `merges`"
        )
    known = {""}
    for number, piece in enumerate(pieces, start=1):
        if piece in known:
            raise errors.InputError(
                f"{path}: line {number}: {piece!r} is empty or appears twice;"
                " give one piece per line, each once"
            )
        known.add(piece)
    return pieces


def merges_text(merges):
    """Return the content of a merges file."""
    return "\n".join(["#version: 0.2", *map(" ".join, merges), ""])
