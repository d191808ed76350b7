"""The released text pipeline, rule by rule and slowly.

A transcription of what openai/finetune-transformer-lm does to a text
(text_utils.py), for comparison only: nothing here is shared with the package.
"""

import functools
import json
import re

import ftfy
import spacy


def standardize(text):
    for dash in "\u2014\u2013\u2015":
        text = text.replace(dash, "-")
    text = text.replace("\u2026", "...")
    text = text.replace("\u00b4", "'")
    # Not a raw string in the original: "\\+" there means a literal plus.
    runs = [re.escape(c) + "+" for c in '-~!";?+,)(+/*[]}{|_']
    text = re.sub("(" + "|".join(runs) + ")", r" \1 ", text)
    text = re.sub(r"\s*\n\s*", " \n ", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    return text.strip()


class ReleasedTokenizer:
    """Slow ids of a text, with the per-word memory the released code has."""

    def __init__(self, vocabulary, merges):
        with open(vocabulary, encoding="utf-8") as file:
            self.ids = json.load(file)
        with open(merges, encoding="utf-8") as file:
            lines = file.read().split("\n")[1:-1]
        self.ranks = {tuple(line.split()): i for i, line in enumerate(lines)}
        self.memory = {}

    @classmethod
    def of_merges(cls, merges):
        """Return one for `pieces` only."""
        made = cls.__new__(cls)
        made.ranks = {pair: rank for rank, pair in enumerate(merges)}
        made.memory = {}
        return made

    @functools.cached_property
    def split_words(self):
        english = spacy.blank("en")
        english.max_length = 10**9
        return english

    def words(self, text):
        doc = self.split_words(standardize(ftfy.fix_text(text)))
        return [token.text.lower() for token in doc]

    def encode(self, text):
        return [
            self.ids.get(piece, 0)
            for word in self.words(text)
            for piece in self.pieces(word)
        ]

    def pieces(self, word):
        if word not in self.memory:
            self.memory[word] = self._merged(word)
        return self.memory[word]

    def _merged(self, word):
        if len(word) == 1:
            return [word + "</w>"]
        symbols = [*word[:-1], word[-1] + "</w>"]
        while len(symbols) > 1:
            pairs = set(zip(symbols, symbols[1:]))
            best = min(pairs, key=lambda p: self.ranks.get(p, float("inf")))
            if best not in self.ranks:
                break
            symbols = joined(symbols, best)
        if " ".join(symbols) == "\n  </w>":
            return ["\n</w>"]
        return symbols


def joined(symbols, pair):
    """Return the symbols with a pair merged wherever it occurs."""
    found = []
    while symbols:
        if tuple(symbols[:2]) == pair:
            found.append("".join(symbols[:2]))
            symbols = symbols[2:]
        else:
            found.append(symbols[0])
            symbols = symbols[1:]
    return found
