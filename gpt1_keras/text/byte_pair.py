"""Word -> ids by byte-pair merges, as in the released code.

A word is its characters, the last one marked with `</w>`. Again and again the
adjacent pair that stands first in the list of merges is joined, everywhere in
the word, until no pair of the list is left. A piece that the vocabulary lacks
is id 0, `<unk>`.

Reference: Sennrich et al. 2016; openai/finetune-transformer-lm text_utils.py.
"""

import itertools

from gpt1_keras.text import words

END_OF_WORD = "</w>"
UNKNOWN = "<unk>"
UNKNOWN_ID = 0
_NEVER = float("inf")  # the rank of a pair that is not in the list


class BytePair:
    """Byte-pair encoding of single words.

    Args:
        ids: dict from piece to id.
        merges: list of (left, right), in the order they were learned.
    """

    type = "bpe"
    newline = words.NEWLINE + END_OF_WORD

    def __init__(self, ids, merges):
        self._ids = ids
        self._ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}

    def encode_word(self, word):
        """Return the ids of one word as a tuple."""
        ids = self._ids
        return tuple(ids.get(piece, UNKNOWN_ID) for piece in self.split(word))

    def split(self, word):
        """Return the pieces of one word."""
        pieces = list(word)
        pieces[-1] += END_OF_WORD
        rank = self._ranks.get
        ranks = [rank(pair, _NEVER) for pair in itertools.pairwise(pieces)]
        while ranks and (best := min(ranks)) != _NEVER:
            start = 0
            for _ in range(ranks.count(best)):
                if best not in ranks[start:]:
                    break  # it overlapped the one before
                index = ranks.index(best, start)
                start = index + 1
                pieces[index:start] = [pieces[index] + pieces.pop(start)]
                del ranks[index]
                if index:
                    pair = (pieces[index - 1], pieces[index])
                    ranks[index - 1] = rank(pair, _NEVER)
                if index < len(ranks):
                    pair = (pieces[index], pieces[start])
                    ranks[index] = rank(pair, _NEVER)
        return pieces

    def join(self, pieces):
        """Return the words that a list of pieces spells."""
        spelled = []
        word = ""
        for piece in pieces:
            if piece.endswith(END_OF_WORD):
                spelled.append(word + piece.removesuffix(END_OF_WORD))
                word = ""
            else:
                word += piece
        if word:
            spelled.append(word)
        return spelled

    def readable(self, piece):
        """Return a piece with a space where its word ends."""
        if piece.endswith(END_OF_WORD):
            return piece.removesuffix(END_OF_WORD) + " "
        return piece
