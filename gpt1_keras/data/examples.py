"""One row of a benchmark, whatever file it came from."""

import copy
import dataclasses
import hashlib

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import console
from gpt1_keras.data import transforms

# -----------------------------------------------------------------------------
# One row of a benchmark, whatever file it came from.


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """Text with a label.

    Attributes:
        text: sentence, premise, first sentence, document or story.
        text_pair: hypothesis, second sentence or question; "" without one.
        choices: tuple of str, the answers to choose from; () elsewhere.
        label: what is to be predicted: a word of the task's labels, the index
            of the right choice, or a score; None where it is not known.
        group: part of the benchmark that is also reported on its own, such
            as "middle" or "mismatched"; "" without parts.
    """

    text: str
    text_pair: str = ""
    choices: tuple = ()
    label: str | int | float | None = None
    group: str = ""


def sha256(examples):
    """Return a digest of a list of `Example`, in their order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()


# -----------------------------------------------------------------------------
# Some of the rows of a benchmark, drawn at random.


def draw_subset(size, count, *, name):
    """Return the numbers of the drawn rows, rising, the same on every call.

    Files stand in an order that means something: RACE has its middle schools
    before its high schools, CoLA source after source.

    Args:
        size: int. Rows there are.
        count: int or None. Rows to draw; None or too many: all.
        name: str, what `count` is called, for the message.

    Returns:
        int array `[min(size, count)]`.

    Raises:
        InputError: `count` is not a whole number above 0.
    """
    checks.check(name, count, checks.Count | None)
    if count is None:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).permutation(size)[:count])


# -----------------------------------------------------------------------------
# Examples as ids, ready for their transform.


class EncodedExamples:
    """The ids of labelled or unlabelled examples.

    Each different text is encoded and kept once, as benchmarks repeat their
    documents and premises; sequences are made when a batch needs them.

    Args:
        examples: list of `Example`.
        tokenizer: `text.tokenizer.Tokenizer`.
        transform: function of `transforms`.
        max_sequence_length: int. Longest sequence `T`.
        name: str, for messages.

    Attributes:
        lengths: int array `[N]`, the longest candidate of each example.
        num_tokens: int array `[N]`, tokens of all its candidates.
        num_candidates: int, `C`.
        num_cut: int. Examples of all those encoded of which something had
            to be cut.
    """

    def __init__(
        self, examples, *, tokenizer, transform, max_sequence_length, name
    ):
        self._tokenizer = tokenizer
        self._transform = transform
        self._max_sequence_length = max_sequence_length
        self._ids = _encode(examples, tokenizer, name)
        sizes = [self._sizes(i) for i in range(len(examples))]
        sizes = np.array(sizes, "int64").reshape(-1, 4)
        self.lengths, self.num_tokens = sizes[:, 0], sizes[:, 1]
        self.num_candidates = int(sizes[:, 2].max(initial=1))
        self.num_cut = int(np.count_nonzero(sizes[:, 3]))
        if self.num_cut:
            logging.warning(
                "%s: of %s of %s examples something was cut to fit into %d "
                "positions, %s tokens in all; example %s is the first",
                name,
                f"{self.num_cut:,}",
                f"{len(self):,}",
                max_sequence_length,
                f"{int(sizes[:, 3].sum()):,}",
                f"{int(np.flatnonzero(sizes[:, 3])[0]) + 1:,}",
            )

    def __len__(self):
        return len(self._ids)

    def part(self, rows):
        """Return the examples of `rows` (ints), encoded already."""
        found = copy.copy(self)
        found._ids = [self._ids[row] for row in rows]
        found.lengths = self.lengths[rows]
        found.num_tokens = self.num_tokens[rows]
        return found

    def candidates(self, index):
        """Return the `C` sequences of one example, lists of ids."""
        return self._sequences(index).candidates

    def spec(self, batch_size):
        """Name -> (shape, dtype) of the arrays of a batch."""
        shape = (batch_size, self.num_candidates)
        return {
            "token_ids": ((*shape, None), "int32"),
            "token_weights": ((*shape, None), "float32"),
            "extract_position": (shape, "int32"),
        }

    def batch(self, rows, length):
        """Return the arrays of some examples, padded to `length`."""
        return transforms.pad([self.candidates(i) for i in rows], length=length)

    def _sequences(self, index):
        return self._transform(
            self._ids[index],
            tokenizer=self._tokenizer,
            max_sequence_length=self._max_sequence_length,
        )

    def _sizes(self, index):
        sequences = self._sequences(index)
        lengths = [len(ids) for ids in sequences.candidates]
        return max(lengths), sum(lengths), len(lengths), sequences.num_cut


def _encode(examples, tokenizer, name):
    known = {}

    def encode(text):
        if text not in known:
            known[text] = tokenizer.encode(text)
        return known[text]

    ids = []
    with console.bar(f"{name}: text to ids", len(examples)) as advance:
        for example in examples:
            ids.append(
                transforms.ExampleIds(
                    encode(example.text),
                    encode(example.text_pair) if example.text_pair else (),
                    tuple(encode(choice) for choice in example.choices),
                )
            )
            advance(1)
    return ids
