"""Text -> ids and back: the tokenizer of every model here."""

import hashlib
import json
import pathlib

from gpt1_keras import errors
from gpt1_keras.text import byte_pair
from gpt1_keras.text import chunks
from gpt1_keras.text import readable
from gpt1_keras.text import vocabulary_files
from gpt1_keras.text import word_piece

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
        self._chunks = chunks.ChunkDictionary(
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
        return readable.join_words(self._model.join(pieces))

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
