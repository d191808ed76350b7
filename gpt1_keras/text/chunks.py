"""Text -> the values of its words, remembered chunk by chunk.

Neither the standardisation nor spaCy looks across white space (but for the
rare pieces that `word_rules` names), so what the characters between two white
spaces become depends on them alone. A dictionary from such a chunk to its
values stands for both; only chunks met for the first time go through them,
all of a text at once.
"""

import itertools

from gpt1_keras.text import standardize
from gpt1_keras.text import word_rules
from gpt1_keras.text import words

LONGEST_REMEMBERED = 64  # characters
LIMIT_OF_WORDS = 100_000  # words remembered where chunks are not
_flat = itertools.chain.from_iterable


class ChunkDictionary:
    """Maps a text to the sequence of its words' values.

    Args:
        value_of_word: callable from a word (str) to a tuple.
        limit: int. Chunks held at most; when more would come, the dictionary
            starts afresh. 0: nothing is remembered.
    """

    def __init__(self, value_of_word, limit):
        self._value_of_word = value_of_word
        self._limit = limit
        self._chunks = {}
        self._pieces = {}
        self._words = {}
        self._newline = value_of_word(words.NEWLINE)

    def __call__(self, text):
        """Return the list of values of a raw text."""
        text = standardize.repair(text)
        if not self._limit:
            return self._values_of_words(standardize.standardize(text))
        chunks = []
        for line in text.split("\n"):
            if found := line.split():
                chunks += found
                chunks.append(words.NEWLINE)
        del chunks[-1:]
        values = list(map(self._chunks.get, chunks))
        if None in values:
            values = self._complete(chunks, values)
        return list(_flat(values))

    def __len__(self):
        return len(self._chunks)

    def __getstate__(self):
        return {"value_of_word": self._value_of_word, "limit": self._limit}

    def __setstate__(self, state):
        self.__init__(**state)

    def _complete(self, chunks, values):
        """Return `values` with those of the unknown chunks filled in."""
        gaps = list(_indices_of_none(values))
        unknown = dict.fromkeys(chunks[index] for index in gaps)
        unknown.pop(words.NEWLINE, None)
        found, dependent = self._values_of_chunks(unknown)
        found[words.NEWLINE] = self._newline
        for index in gaps:
            values[index] = found[chunks[index]]
        self._add(self._chunks, found, dependent)
        if not dependent:
            return values
        completed = []
        start = 0
        while start < len(chunks):
            end = _end_of_line(chunks, start)
            line = chunks[start:end]
            if dependent.isdisjoint(line):
                completed += values[start:end]
            else:
                text = standardize.standardize(" ".join(line))
                completed.append(self._values_of_words(text))
            completed += values[end : end + 1]
            start = end + 1
        return completed

    def _values_of_chunks(self, chunks):
        """Return the values of chunks, and those that need their line."""
        if not chunks:
            return {}, frozenset()
        text = standardize.standardize("\n".join(chunks))
        lines = [line.split() for line in text.split("\n")]
        pieces = {
            piece: self._pieces[piece] if piece in self._pieces else None
            for piece in _flat(lines)
        }
        split, depends = word_rules.split_pieces(
            [piece for piece, value in pieces.items() if value is None]
        )
        for piece, found in split.items():
            pieces[piece] = tuple(_flat(map(self._value, found)))
        values = {
            chunk: (
                pieces[line[0]]
                if len(line) == 1
                else tuple(_flat(pieces[piece] for piece in line))
            )
            for chunk, line in zip(chunks, lines, strict=True)
        }
        self._add(self._pieces, {p: pieces[p] for p in split}, depends)
        if not depends:
            return values, depends
        return values, {
            chunk
            for chunk, line in zip(chunks, lines, strict=True)
            if not depends.isdisjoint(line)
        }

    def _values_of_words(self, text):
        """Return the list of values of a whole standardised text."""
        return list(_flat(map(self._value, words.split_words(text))))

    def _value(self, word):
        value = self._words.get(word)
        if value is None:
            value = self._value_of_word(word)
            self._add(self._words, {word: value})
        return value

    def _add(self, memory, found, dependent=frozenset()):
        """Put what may be remembered into one of the dictionaries."""
        kept = [
            item
            for item in found.items()
            if len(item[0]) <= LONGEST_REMEMBERED and item[0] not in dependent
        ][: self._limit or LIMIT_OF_WORDS]
        if len(memory) + len(kept) > (self._limit or LIMIT_OF_WORDS):
            memory.clear()
        memory.update(kept)


def _indices_of_none(values):
    index = -1
    try:
        while True:
            index = values.index(None, index + 1)
            yield index
    except ValueError:
        return


def _end_of_line(chunks, start):
    """Return the index of the line break after `start`, or of the end."""
    try:
        return chunks.index(words.NEWLINE, start)
    except ValueError:
        return len(chunks)
