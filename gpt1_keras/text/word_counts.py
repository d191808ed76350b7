"""How often each word of a corpus occurs."""

import collections

from gpt1_keras.text import chunks

_CHUNKS_REMEMBERED = 300_000


class WordCounter:
    """Counts words, text after text, with a dictionary that it keeps."""

    def __init__(self):
        self._split = chunks.ChunkDictionary(_alone, _CHUNKS_REMEMBERED)

    def count(self, texts):
        """Return a Counter of the words of an iterable of texts.

        Memory grows with the number of different words, not with the texts.
        """
        counts = collections.Counter()
        for text in texts:
            counts.update(self._split(text))
        return counts


def count_words(texts):
    """Return a Counter of the words of an iterable of texts."""
    return WordCounter().count(texts)


def _alone(word):
    return (word,)
