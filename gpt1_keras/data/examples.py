"""Labelled examples of a benchmark, as texts and as token ids."""

import dataclasses
import functools
import hashlib

import numpy as np
from absl import logging

from gpt1_keras import console
from gpt1_keras.data import batches
from gpt1_keras.data import transforms
from gpt1_keras.text import subwords

_IGNORED = {"default": None, "repr": False, "compare": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """One example of a benchmark, whatever file it came from."""

    text: str  # sentence, premise, first sentence, document or story
    text_pair: str = ""  # hypothesis, second sentence or question
    choices: tuple = ()  # of str, the answers to choose from
    # A class name, the index of the right choice, or a score; None if unknown.
    label: str | int | float | None = None
    group: str = ""  # subset that is also reported separately, as "middle"
    # Of the user's own file: the line on which the row begins, and {column:
    # value} of the row without the label. Ignored in comparisons.
    line: int | None = dataclasses.field(**_IGNORED)
    given: dict | None = dataclasses.field(**_IGNORED)


def sha256(examples, *, with_given=False):
    """Return a digest of a list of `Example`; their order matters.

    `with_given` includes `line` and `given` of the user's own rows.
    """
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
        if with_given and example.given is not None:
            digest.update(repr((example.line, example.given)).encode())
    return digest.hexdigest()


def draw_subset(examples, count, *, seed=0):
    """Return `count` random examples of a list, in its order; None: all.

    They are not the first ones, because files are sorted, as RACE by school.
    """
    if count is None:
        return examples
    rows = np.random.default_rng(seed).permutation(len(examples))[:count]
    return [examples[row] for row in np.sort(rows)]


class EncodedExamples:
    """The token ids of a list of `Example`, ready for their transform.

    Every distinct text is encoded and stored once, because benchmarks repeat
    their documents and premises. Sequences are built when a batch needs them.
    `transform` is a function of `transforms`; `name` is for messages.

    Attributes:
        lengths: int array `[N]`, tokens of each example's longest candidate.
        num_tokens: int array `[N]`, tokens of all candidates of each example.
        num_candidates: int, `C`.
        num_cut: int, truncated examples.
    """

    def __init__(
        self, examples, *, tokenizer, transform, max_sequence_length, name
    ):
        self._tokenizer = tokenizer
        self._transform = transform
        self._max_sequence_length = max_sequence_length
        self._ids = []
        counts = np.zeros(2, "int64")  # of unknown tokens, of all tokens

        @functools.cache
        def encode(text):
            ids = tokenizer.encode(text)
            counts[:] += ids.count(subwords.UNKNOWN_ID), len(ids)
            return ids

        with console.bar(f"{name}: encoding", len(examples)) as advance:
            for example in examples:
                texts = (example.text, example.text_pair, example.choices)
                self._ids.append(transforms.encoded(encode, *texts))
                advance(1)
        subwords.warn_of_unknown(name, *counts)
        sizes = [self._sizes(i) for i in range(len(examples))]
        sizes = np.array(sizes, "int64").reshape(-1, 4)
        self.lengths, self.num_tokens, candidates, cut = sizes.T
        self.num_candidates = int(candidates.max(initial=1))
        self.num_cut = int(np.count_nonzero(cut))
        if self.num_cut:
            logging.warning(
                f"{name}: {self.num_cut:,} of {len(examples):,} examples were"
                f" truncated to {max_sequence_length} positions, by"
                f" {cut.sum():,} tokens in all; example"
                f" {np.flatnonzero(cut)[0] + 1:,} is the first"
            )

    def candidates(self, index):
        """Return the `C` sequences of one example, lists of ids."""
        return self._sequences(index).candidates

    def spec(self, batch_size):
        """Return {name: (shape, dtype)} of the arrays of a batch."""
        return batches.spec_of(batch_size, self.num_candidates, None)

    def batch(self, rows, length):
        """Return the arrays of some examples, padded to `length`."""
        # A bucket length may exceed the network's positions.
        length = min(length, self._max_sequence_length)
        return transforms.pad([self.candidates(i) for i in rows], length=length)

    def _sequences(self, index):
        return self._transform(
            *self._ids[index],
            tokenizer=self._tokenizer,
            max_sequence_length=self._max_sequence_length,
        )

    def _sizes(self, index):
        candidates, num_cut = self._sequences(index)
        lengths = list(map(len, candidates))
        return max(lengths), sum(lengths), len(lengths), num_cut
