"""Training batches of labelled texts, tokenised inside tf.data."""

import itertools
import types

import numpy as np
import tensorflow as tf

from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import loaders
from gpt1_keras.data import transforms
from gpt1_keras.text import tf_tokenizer

_PARALLEL_CALLS = 2
_STEPS_AT_ONCE = 32  # steps whose texts are tokenised in one call
_NUM_FREQUENT = 50_000
_NUM_MEASURED = 200  # examples from which tokens per character are estimated


class RawTrainingExamples(example_batches.TrainingExamples):
    """`example_batches.TrainingExamples` tokenised during training.

    A tf.data pipeline passes the texts of many steps at once through
    `text.tf_tokenizer`, then the ids of each step through the function of
    `transforms` named `transform`. Examples are sorted by their lengths in
    characters, so the order differs from that of encoded examples. Truncated
    examples are not counted (`num_cut` None), and `tokens_per_step` is
    estimated.
    """

    def __init__(
        self,
        examples,
        labels,
        *,
        tokenizer,
        transform,
        max_sequence_length,
        **order,
    ):
        self._few = measured = examples_lib.EncodedExamples(
            examples[:_NUM_MEASURED],
            tokenizer=tokenizer,
            transform=getattr(transforms, transform),
            max_sequence_length=max_sequence_length,
            name="a few examples",
        )
        sizes = np.array([_num_characters(e) for e in examples])
        tokens = measured.num_tokens.sum() / sizes[:_NUM_MEASURED].sum()
        estimated = types.SimpleNamespace(
            lengths=sizes,
            num_tokens=sizes * tokens,
            num_cut=None,
            spec=measured.spec,
        )
        super().__init__(estimated, labels, **order)
        self._examples = examples
        self._max_sequence_length = max_sequence_length
        texts = itertools.chain(*map(_texts, examples))
        frequent = tf_tokenizer.frequent_pieces(texts, _NUM_FREQUENT)
        with tf.device("CPU:0"):  # where tf.data runs
            self._graph = tf_tokenizer.GraphTokenizer(tokenizer, frequent)

    def dataset(self, *, first_step, num_steps):
        """Return the batches of consecutive steps, as `loaders.dataset`."""
        chain = (
            tf.data.Dataset.range(first_step, first_step + num_steps)
            .map(self._read, _PARALLEL_CALLS, deterministic=True)
            .batch(_STEPS_AT_ONCE)
            .map(self._encode_all, _PARALLEL_CALLS, deterministic=True)
            .prefetch(1)
            .unbatch()
            .map(self._batch, _PARALLEL_CALLS, deterministic=True)
        )
        return loaders.prefetched(chain, num_steps)

    def _read(self, step):
        """Return the step and all its texts, string `[N]`."""

        def read(step):
            examples = (self._examples[row] for row in self.order(step))
            texts = itertools.chain(*map(_texts, examples))
            return [np.array([text.encode() for text in texts], object)]

        (texts,) = loaders.from_python(read, [step], [([None], "string")])
        return step, texts

    def _encode_all(self, steps, texts):
        """Strings of `G` steps to ragged ids, as each call is costly."""
        # [G, N] -> [G * N, (ids)] -> [G, N, (ids)]
        ids = tf.RaggedTensor.from_uniform_row_length(
            self._encode(tf.reshape(texts, [-1])), tf.size(texts[0], tf.int64)
        )
        return steps, ids

    def _batch(self, step, ids):
        inputs = [step, ids.values, ids.row_splits]
        return loaders.batch_from_python(self._padded, inputs, self.spec)

    def _padded(self, step, ids, splits):
        """Return a batch, from the ids of the texts one after another."""
        rows, ids = self.order(step), ids.tolist()
        texts = [ids[i:j] for i, j in itertools.pairwise(splits.tolist())]
        per_row = len(texts) // len(rows)
        candidates = [
            self._few.sequences(text, text_pair, choices).candidates
            for text, text_pair, *choices in zip(*[iter(texts)] * per_row)
        ]
        longest = max(map(len, itertools.chain(*candidates)))
        length = example_batches.padded_length(longest, self._bucket_lengths)
        length = min(length, self._max_sequence_length)
        batch = transforms.pad(candidates, length=length)
        return batch | {"labels": self._labels[rows]}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def _encode(self, texts):
        """Strings `[N]` -> ragged ids `[N, (ids)]`; traced once."""
        return self._graph(texts, limit=self._max_sequence_length)


def _num_characters(example):
    """Return the approximate length of the longest candidate."""
    longest = max(map(len, example.choices), default=0)
    return len(example.text) + len(example.text_pair) + longest


def _texts(example):
    return example.text, example.text_pair, *example.choices
