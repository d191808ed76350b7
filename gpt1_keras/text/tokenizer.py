"""Text to token ids and back: the tokenizer of every model in this package."""

import hashlib
import itertools
import json
import pathlib

from absl import logging

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.text import standardize
from gpt1_keras.text import subwords
from gpt1_keras.text import words

_LONGEST_REMEMBERED = 64  # characters
# Merges are missing if more than this share of the pieces results from none.
_FEW_PIECES = 0.01
_flat = itertools.chain.from_iterable


class ChunkDictionary:
    """Map from a text to the values of its words, with a cache of chunks.

    A chunk is a stretch of raw text without white space. Most chunks have the
    same words wherever they occur; if those of one depend on its neighbours,
    the whole line is split at once.

    Args:
        value_of_word: function from a word (str) to a tuple of values, not
            empty, such as its token ids.
    """

    limit = 400_000  # chunks, about 100 MB of ids; then the cache is emptied

    def __init__(self, value_of_word):
        self._value_of_word = value_of_word
        self._chunks = {}
        self._pieces = {}  # of standardised text
        self._newline = value_of_word(words.NEWLINE)

    def __call__(self, text):
        text = standardize.repair(text)
        chunks = []
        for line in text.split("\n"):
            if found := line.split():
                chunks += found
                chunks.append(words.NEWLINE)
        del chunks[-1:]  # the last line break
        values = list(map(self._chunks.get, chunks))
        if None in values:
            self._fill(values, chunks)
        return list(_flat(values))

    def __reduce__(self):  # without the cached chunks
        return ChunkDictionary, (self._value_of_word,)

    def _fill(self, values, chunks):
        """Replace each None in `values` by the values of its chunk."""
        gaps = [i for i, value in enumerate(values) if value is None]
        unknown = dict.fromkeys(chunks[i] for i in gaps)
        unknown.pop(words.NEWLINE, None)
        found, dependent = self._values_of_chunks(unknown)
        found[words.NEWLINE] = self._newline
        for i in gaps:
            values[i] = found[chunks[i]]
        self._remember(self._chunks, found, dependent)
        if not dependent:
            return
        breaks = [i for i, chunk in enumerate(chunks) if chunk == words.NEWLINE]
        for before, end in itertools.pairwise([-1, *breaks, len(chunks)]):
            line = chunks[before + 1 : end]
            if not dependent.isdisjoint(line):
                text = standardize.standardize(" ".join(line))
                whole = _flat(map(self._value_of_word, words.split_words(text)))
                # The first chunk gets the values of the whole line.
                rest = [()] * (len(line) - 1)
                values[before + 1 : end] = [list(whole), *rest]

    def _values_of_chunks(self, chunks):
        """Return {chunk: values} and the chunks that depend on their line."""
        if not chunks:
            return {}, set()
        text = standardize.standardize("\n".join(chunks))
        lines = [line.split() for line in text.split("\n")]
        pieces = {piece: self._pieces.get(piece) for piece in _flat(lines)}
        split, dependent = words.split_pieces(
            [piece for piece, values in pieces.items() if values is None]
        )
        new = {
            piece: tuple(_flat(map(self._value_of_word, found)))
            for piece, found in split.items()
        }
        pieces |= new
        self._remember(self._pieces, new, dependent)
        values, dependent_chunks = {}, set()
        for chunk, line in zip(chunks, lines, strict=True):
            parts = [pieces[piece] for piece in line]
            values[chunk] = parts[0] if len(parts) == 1 else tuple(_flat(parts))
            if not dependent.isdisjoint(line):
                dependent_chunks.add(chunk)
        return values, dependent_chunks

    def _remember(self, cache, found, dependent):
        """Cache texts that are short and whose words are always the same."""
        kept = [
            (text, values)
            for text, values in found.items()
            if len(text) <= _LONGEST_REMEMBERED and text not in dependent
        ][: self.limit]
        if len(cache) + len(kept) > self.limit:
            cache.clear()
        cache.update(kept)


class Tokenizer:
    """Tokenizer of the released pipeline: text to token ids, and back.

    The pipeline: ftfy, the released standardisation, spaCy's English words in
    lower case, then byte pairs (or WordPiece) within each word. Build it with
    `from_files` or `from_directory`. Encoding is thread-safe.

    Args:
        pieces: list of str, the vocabulary in the order of ids.
        merges: list of (left, right), the first learned first; None: WordPiece.

    Attributes:
        type: "bpe" or "wordpiece".
        vocabulary, merges: lists as above; `ids` is {piece: id}.
        vocabulary_size: int, without the three special tokens.
        start_id, delimiter_id, extract_id: int, the ids after the vocabulary.
        newline_id: int, or None if the vocabulary has no line break.
        sha256: str, hex digest of type, vocabulary and merges.

    Examples:
        >>> shipped = "presets/gpt1_mini_novels_en/assets/tokenizer"
        >>> tokenizer = Tokenizer.from_directory(shipped)
        >>> ids = tokenizer.encode("The keeper's daughter LAUGHED!")
        >>> [tokenizer.piece(i) for i in ids]
        ['the ', 'keeper ', "'s ", 'daughter ', 'laughed ', '! ']
        >>> tokenizer.decode(ids)
        "the keeper's daughter laughed!"
        >>> [tokenizer.piece(i) for i in tokenizer.encode("unbelievable")]
        ['un', 'beli', 'ev', 'able ']
    """

    def __init__(self, pieces, merges=None):
        self.vocabulary = list(pieces)
        self.ids = {piece: i for i, piece in enumerate(self.vocabulary)}
        if merges is None:
            self.merges = None
            self._model = subwords.WordPiece(self.ids)
        else:
            self.merges = [tuple(pair) for pair in merges]
            self._model = subwords.BytePair(self.ids, self.merges)
        self.type = self._model.type
        self.newline_id = self.ids.get(self._model.newline)
        self.vocabulary_size = len(self.vocabulary)
        self.start_id = self.vocabulary_size
        self.delimiter_id = self.vocabulary_size + 1
        self.extract_id = self.vocabulary_size + 2
        content = json.dumps([self.type, self.vocabulary, self.merges])
        self.sha256 = hashlib.sha256(content.encode()).hexdigest()
        self._chunks = ChunkDictionary(self._model.encode_word)

    @classmethod
    def from_files(cls, vocabulary, merges=None):
        """Read a `.json` vocabulary with its merges, or a WordPiece `.txt`."""
        if merges is None:
            return cls(subwords.read_word_pieces(vocabulary))
        pieces = subwords.read_byte_pairs(vocabulary)
        return cls.checked(pieces, subwords.read_merges(merges), merges)

    @classmethod
    def checked(cls, pieces, merges, path):
        """Return a BPE tokenizer; refuse a vocabulary that lacks merges.

        Merges in another order than the ids of their results cause a warning,
        since the order decides how words are split.
        """
        made = set(map("".join, merges))
        lost = [
            piece
            for piece in pieces
            if len(piece.removesuffix(subwords.END_OF_WORD)) > 1
            and piece not in made
            and not piece.startswith("<")
        ]
        if len(lost) > _FEW_PIECES * len(pieces):
            raise errors.InputError(
                f"{path}: the merges of {len(lost)} tokens are missing, such as"
                f" that of {lost[0]!r}: give the vocabulary's own merges"
            )
        found = cls(pieces, merges)
        results = [i for i in map(found.ids.get, map("".join, merges)) if i]
        falls = sum(a > b for a, b in itertools.pairwise(results))
        if falls > _FEW_PIECES * len(results):
            logging.warning(
                f"{path}: {falls} merges come before one of an earlier token of"
                " the vocabulary: if they are not in the order in which they"
                " were learned, words are split wrongly"
            )
        return found

    @classmethod
    def from_directory(cls, directory):
        """Read a tokenizer that `save` wrote."""
        directory = pathlib.Path(directory)
        byte_pairs = directory / subwords.BYTE_PAIR_VOCABULARY
        pieces = directory / subwords.WORD_PIECE_VOCABULARY
        if byte_pairs.exists():
            return cls.from_files(byte_pairs, directory / subwords.MERGES)
        if pieces.exists():
            return cls.from_files(pieces)
        raise errors.InputError(
            f"{directory} has no {byte_pairs.name} or {pieces.name}: restore "
            "it, or give a folder that tools/train_tokenizer.py wrote"
        )

    def save(self, directory):
        """Write the files that `from_directory` reads."""
        lines = "\n".join([*self.vocabulary, ""])
        texts = {subwords.WORD_PIECE_VOCABULARY: lines}
        if self.merges is not None:
            texts = {
                subwords.BYTE_PAIR_VOCABULARY: json.dumps(self.ids),
                subwords.MERGES: subwords.merges_text(self.merges),
            }
        folder = files.make_folder(directory)
        for name, text in texts.items():
            files.write_atomic(folder / name, text)

    @property
    def opening_id(self):
        """The id to put before a text without context: that of a line break.

        The language model has no start token; in its training, a line break
        precedes each paragraph. A vocabulary without one gives a full stop.
        """
        if self.newline_id is not None:
            return self.newline_id
        return self.encode(".")[0]

    def encode(self, text):
        """Return the ids of `text` as a list, without special tokens."""
        return self._chunks(text)

    def encode_prompt(self, text):
        """Return the ids of `text`; without any, the opening id."""
        return self.encode(text) or [self.opening_id]

    def encode_batch(self, texts):
        return [self._chunks(text) for text in texts]

    def decode(self, ids):
        """Return readable text, with normal spacing around punctuation.

        Special tokens are dropped. The text is lower-case, as encoding made it.

        Raises:
            ValueError: an id is negative.
        """
        ids = list(map(int, ids))
        if min(ids, default=0) < 0:
            raise ValueError(f"ids must not be negative, found {min(ids)}")
        pieces = [self.vocabulary[i] for i in ids if i < self.vocabulary_size]
        return words.join_words(self._model.join(pieces))

    def piece(self, index):
        """Return the text of one id for display.

        A line break is shown as "\u23ce", a special token as its name in
        brackets; a space marks where a word ends (BPE) or begins (WordPiece).
        """
        if index >= self.vocabulary_size:
            special = ("[start]", "[delimiter]", "[extract]")
            return special[index - self.vocabulary_size]
        if index == self.newline_id:
            return "\u23ce"
        return self._model.readable(self.vocabulary[index])
