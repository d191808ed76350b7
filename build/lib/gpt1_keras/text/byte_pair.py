"""Byte-pair encoding of single words, as in the released code.

A word starts as its characters, the last one marked with `</w>`. The adjacent
pair that was learned first is merged everywhere in the word, until no learned
pair is left. A piece outside the vocabulary gets id 0, `<unk>`.

Reference: Sennrich et al. 2016; openai/finetune-transformer-lm text_utils.py.
"""

import tokenizers

from gpt1_keras.text import words

END_OF_WORD = "</w>"
UNKNOWN = "<unk>"
UNKNOWN_ID = 0


class BytePair:
    """Byte-pair encoder; the merges are applied by Hugging Face `tokenizers`.

    `ids` is a dict from piece to id; `merges` a list of (left, right) in the
    order in which they were learned.
    """

    type = "bpe"
    newline = words.NEWLINE + END_OF_WORD

    def __init__(self, ids, merges):
        self._ids = ids
        # The library requires an entry for each piece that a merge yields.
        known = dict.fromkeys([*ids, UNKNOWN])
        for left, right in merges:
            known |= dict.fromkeys((left, right, left + right))
        self._model = tokenizers.models.BPE(
            {piece: number for number, piece in enumerate(known)},
            merges,
            unk_token=UNKNOWN,
            end_of_word_suffix=END_OF_WORD,
        )

    def encode_word(self, word):
        """Return the ids of one word as a tuple."""
        pieces = self._model.tokenize(word)
        return tuple(self._ids.get(p.value, UNKNOWN_ID) for p in pieces)

    def join(self, pieces):
        """Return the words spelled by a list of pieces."""
        spelled = "".join(pieces).split(END_OF_WORD)
        return spelled if spelled[-1] else spelled[:-1]

    def readable(self, piece):
        """Return a piece with a space in place of its end-of-word mark."""
        if piece.endswith(END_OF_WORD):
            return piece.removesuffix(END_OF_WORD) + " "
        return piece
