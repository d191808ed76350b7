"""WordPiece encoding of single words: longest match first.

Pieces inside a word start with `##`. A word that the vocabulary cannot spell,
or that is longer than 100 characters, is `[UNK]`, id 0. The line break is the
entry `[NEWLINE]`, because the vocabulary file has one entry a line; words are
lower case, so no word of a text can collide with it.

Reference: Schuster and Nakajima 2012; BERT's tokenization.py.
"""

import tokenizers

from gpt1_keras.text import vocabulary_files
from gpt1_keras.text import words

CONTINUATION = "##"
UNKNOWN = vocabulary_files.UNKNOWN_WORD_PIECE
UNKNOWN_ID = 0
NEWLINE_ENTRY = "[NEWLINE]"
MAX_WORD_CHARACTERS = 100


class WordPiece:
    """WordPiece encoder; the matching is done by Hugging Face `tokenizers`.

    Args:
        ids: dict from piece to id.
    """

    type = "wordpiece"
    newline = NEWLINE_ENTRY

    def __init__(self, ids):
        self._newline_id = ids.get(NEWLINE_ENTRY, UNKNOWN_ID)
        self._model = tokenizers.models.WordPiece(
            ids,
            unk_token=UNKNOWN,
            max_input_chars_per_word=MAX_WORD_CHARACTERS,
        )

    def encode_word(self, word):
        """Return the ids of one word as a tuple."""
        if word == words.NEWLINE:
            return (self._newline_id,)
        return tuple(token.id for token in self._model.tokenize(word))

    def join(self, pieces):
        """Return the words spelled by a list of pieces."""
        spelled = []
        for piece in pieces:
            if piece == NEWLINE_ENTRY:
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
