"""Word -> ids by the longest pieces from the left (WordPiece).

Pieces inside a word carry `##`. A word that cannot be spelled with the
vocabulary, or is longer than 100 characters, is `[UNK]`, id 0. The line break
is the entry `[NEWLINE]`, so that the vocabulary is a text file with one entry
a line; no word of a text is upper case, so it can mean nothing else.

Reference: Schuster and Nakajima 2012; BERT's tokenization.py.
"""

from gpt1_keras.text import words

CONTINUATION = "##"
UNKNOWN = "[UNK]"
UNKNOWN_ID = 0
NEWLINE_ENTRY = "[NEWLINE]"
MAX_WORD_CHARACTERS = 100


class WordPiece:
    """WordPiece encoding of single words.

    Args:
        ids: dict from piece to id.
    """

    type = "wordpiece"
    newline = NEWLINE_ENTRY

    def __init__(self, ids):
        self._ids = ids
        self._longest = max(map(len, ids), default=0)

    def encode_word(self, word):
        """Return the ids of one word as a tuple."""
        if word == words.NEWLINE:
            return (self._ids.get(NEWLINE_ENTRY, UNKNOWN_ID),)
        if len(word) > MAX_WORD_CHARACTERS:
            return (UNKNOWN_ID,)
        found = []
        start = 0
        while start < len(word):
            piece = self._longest_piece(word, start)
            if piece is None:
                return (UNKNOWN_ID,)
            found.append(self._ids[piece])
            start += len(piece) - (len(CONTINUATION) if start else 0)
        return tuple(found)

    def join(self, pieces):
        """Return the words that a list of pieces spells."""
        spelled = []
        for piece in pieces:
            if piece == NEWLINE_ENTRY:
                spelled.append(words.NEWLINE)
            elif piece.startswith(CONTINUATION) and len(piece) > 2 and spelled:
                spelled[-1] += piece.removeprefix(CONTINUATION)
            else:
                spelled.append(piece)
        return spelled

    def readable(self, piece):
        """Return a piece with a space where its word begins."""
        if piece.startswith(CONTINUATION) and len(piece) > len(CONTINUATION):
            return piece.removeprefix(CONTINUATION)
        return " " + piece

    def _longest_piece(self, word, start):
        prefix = CONTINUATION if start else ""
        for end in range(min(len(word), start + self._longest), start, -1):
            piece = prefix + word[start:end]
            if piece in self._ids:
                return piece
        return None
