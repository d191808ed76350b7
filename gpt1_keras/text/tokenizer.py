"""Text -> ids and back: the tokenizer of every model here."""

import hashlib
import itertools
import json
import pathlib

from gpt1_keras import errors
from gpt1_keras.text import byte_pair
from gpt1_keras.text import detokenize
from gpt1_keras.text import standardize
from gpt1_keras.text import vocabulary_files
from gpt1_keras.text import word_piece
from gpt1_keras.text import words

# -----------------------------------------------------------------------------
# Text -> the values of its words, remembered chunk by chunk.

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
        split, depends = words.split_pieces(
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


# -----------------------------------------------------------------------------
# Text -> ids and back: the tokenizer of every model here.

DICTIONARY_LIMIT = 400_000  # chunks; about 100 MB when full


class Tokenizer:
    """Maps text to ids exactly as the released pipeline does, and back.

    ftfy, the released standardisation, spaCy's English words in lower case,
    then byte pairs (or WordPiece) for each word. Build it with `from_files`
    or `from_directory`. Encoding may be called from several threads, and the
    tokenizer may be pickled.

    Args:
        pieces: list of str, the vocabulary by id.
        merges: list of (left, right) in order for byte pairs; None: WordPiece.
        dictionary_limit: int. Chunks of text whose ids are remembered; 0
            turns the dictionary off (same ids, an order of magnitude slower).

    Attributes:
        type: "bpe" or "wordpiece".
        vocabulary: list of str by id.
        vocabulary_size: int, without the three special tokens.
        start_id, delimiter_id, extract_id: int, the ids after the vocabulary.
        newline_id: int, or None where the vocabulary has no line break.
        sha256: str, hex. Identity of type, vocabulary and merges.
    """

    def __init__(
        self, pieces, merges=None, *, dictionary_limit=DICTIONARY_LIMIT
    ):
        ids = {piece: index for index, piece in enumerate(pieces)}
        self.vocabulary = list(pieces)
        self._merges = None if merges is None else [tuple(m) for m in merges]
        if merges is None:
            self._model = word_piece.WordPiece(ids)
        else:
            self._model = byte_pair.BytePair(ids, self._merges)
        self.type = self._model.type
        self.newline_id = ids.get(self._model.newline)
        self.vocabulary_size = len(self.vocabulary)
        self.start_id = self.vocabulary_size
        self.delimiter_id = self.vocabulary_size + 1
        self.extract_id = self.vocabulary_size + 2
        content = json.dumps([self.type, self.vocabulary, self._merges])
        self.sha256 = hashlib.sha256(content.encode()).hexdigest()
        self._chunks = ChunkDictionary(
            self._model.encode_word, dictionary_limit
        )

    @classmethod
    def from_files(
        cls, vocabulary, merges=None, *, dictionary_limit=DICTIONARY_LIMIT
    ):
        """Read a tokenizer.

        Args:
            vocabulary: path. A `.json` file in the released format, or a
                WordPiece `.txt` file with one piece a line.
            merges: path of the merges that belong to a `.json` vocabulary.
            dictionary_limit: see the class.

        Raises: InputError, if a file is missing or malformed.
        """
        if merges is not None:
            pieces = vocabulary_files.read_byte_pairs(vocabulary)
            pairs = vocabulary_files.read_merges(merges)
            return cls(pieces, pairs, dictionary_limit=dictionary_limit)
        if pathlib.Path(vocabulary).suffix == ".json":
            raise errors.InputError(
                f"{vocabulary}: a .json vocabulary needs its file of merges; "
                "give MERGES (WordPiece vocabularies are .txt)"
            )
        pieces = vocabulary_files.read_word_pieces(vocabulary)
        return cls(pieces, dictionary_limit=dictionary_limit)

    @classmethod
    def from_directory(cls, directory, *, dictionary_limit=DICTIONARY_LIMIT):
        """Read a tokenizer that `save` wrote into `directory`."""
        directory = pathlib.Path(directory)
        byte_pairs = directory / vocabulary_files.BYTE_PAIR_VOCABULARY
        pieces = directory / vocabulary_files.WORD_PIECE_VOCABULARY
        if byte_pairs.exists():
            paths = (byte_pairs, directory / vocabulary_files.MERGES)
        elif pieces.exists():
            paths = (pieces,)
        else:
            raise errors.InputError(
                f"{directory}: no {byte_pairs.name} or {pieces.name} in it; "
                "give a folder written by tools/train_tokenizer.py"
            )
        return cls.from_files(*paths, dictionary_limit=dictionary_limit)

    def save(self, directory):
        """Write the tokenizer's files into `directory`.

        Byte pairs: `vocabulary.json`, `merges.txt`; WordPiece:
        `vocabulary.txt`.
        """
        if self._merges is None:
            vocabulary_files.write_word_pieces(directory, self.vocabulary)
        else:
            vocabulary_files.write_byte_pairs(
                directory, self.vocabulary, self._merges
            )

    @property
    def merges(self):
        """list of (left, right) in order; None for WordPiece."""
        return None if self._merges is None else list(self._merges)

    def encode(self, text):
        """Return the list of ids of `text`. No special token is added."""
        return self._chunks(text)

    def encode_batch(self, texts):
        """Return a list of lists of ids, one for each text."""
        return [self._chunks(text) for text in texts]

    def decode(self, ids):
        """Return readable text: spaces before punctuation are undone.

        Special tokens are dropped. The result is in lower case and has
        straight quotes, as the ids say no more.

        Raises: ValueError, if an id is negative.
        """
        pieces = []
        for index in ids:
            index = int(index)
            if index < 0:
                raise ValueError(f"ids are not negative, found {index}")
            if index < self.vocabulary_size:
                pieces.append(self.vocabulary[index])
        return detokenize.join_words(self._model.join(pieces))

    def piece(self, index):
        """Return one id as people read it.

        A line break is "\u23ce", a special token its name in brackets; a
        space stands where a word ends (byte pairs) or begins (WordPiece).
        """
        special = ("[start]", "[delimiter]", "[extract]")
        if index >= self.vocabulary_size:
            return special[index - self.vocabulary_size]
        if index == self.newline_id:
            return "\u23ce"
        return self._model.readable(self.vocabulary[index])
