"""A tokenizer so simple that its ids can be written down by hand."""

import hashlib


class LetterTokenizer:
    """One id per ASCII character that is not a space; newline is 10."""

    type = "bpe"
    newline_id = opening_id = 10

    def __init__(self, vocabulary_size=128):
        self.vocabulary_size = vocabulary_size
        self.sha256 = hashlib.sha256(str(vocabulary_size).encode()).hexdigest()

    def encode(self, text):
        return [ord(c) for c in text if c != " " and ord(c) < 128]

    def encode_prompt(self, text):
        return self.encode(text) or [self.opening_id]

    def decode(self, ids):
        return "".join(map(chr, ids))

    def save(self, directory):
        (directory / "vocabulary.txt").write_text(str(self.vocabulary_size))
