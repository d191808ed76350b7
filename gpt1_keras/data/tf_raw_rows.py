"""Training batches of labelled texts, tokenised inside tf.data."""

import numpy as np
import tensorflow as tf

from gpt1_keras.data import batches
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import loaders
from gpt1_keras.data import tf_transforms
from gpt1_keras.data import transforms
from gpt1_keras.text import tf_tokenizer

_PARALLEL_CALLS = 2
_STEPS_AT_ONCE = 32  # steps whose texts are tokenised in one call
_NUM_FREQUENT = 50_000
_NUM_MEASURED = 200  # examples from which tokens per character are estimated


class RawTrainingExamples:
    """`example_batches.TrainingExamples` tokenised during training.

    A tf.data pipeline passes the texts of many steps at once through
    `text.tf_tokenizer`, then the ids of each step through the function of
    `tf_transforms` named `transform`. Examples are sorted by their lengths in
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
        bucket_lengths,
        **order,
    ):
        self._examples = examples
        self._labels = np.asarray(labels)
        sizes = np.array([_num_characters(e) for e in examples])
        self._order = example_batches.TrainingOrder(sizes, **order)
        texts = (t for e in examples for t in (e.text, e.text_pair, *e.choices))
        frequent = tf_tokenizer.frequent_pieces(texts, _NUM_FREQUENT)
        with tf.device("CPU:0"):  # where tf.data runs
            self._graph = tf_tokenizer.GraphTokenizer(tokenizer, frequent)
        self._tokenizer = tokenizer
        self._transform = getattr(tf_transforms, transform)
        self._max_sequence_length = max_sequence_length
        self._bucket_lengths = sorted(bucket_lengths)
        measured = examples_lib.EncodedExamples(
            examples[:_NUM_MEASURED],
            tokenizer=tokenizer,
            transform=getattr(transforms, transform),
            max_sequence_length=max_sequence_length,
            name="a few examples",
        )
        tokens_per_character = (
            measured.num_tokens.sum() / sizes[:_NUM_MEASURED].sum()
        )
        self._num_candidates = measured.num_candidates
        self._num_choices = len(examples[0].choices)
        self.batch_size = order["batch_size"]
        self.num_examples = len(examples)
        self.num_cut = None
        self.steps_per_epoch = self._order.steps_per_epoch
        self.tokens_per_step = float(
            self.batch_size * sizes.mean() * tokens_per_character
        )

    def dataset(self, *, first_step=0, num_steps):
        """Return the batches of consecutive steps, as `loaders.dataset`."""
        end = tf.int64.max if num_steps is None else first_step + num_steps
        dataset = (
            tf.data.Dataset.range(first_step, end)
            .batch(_STEPS_AT_ONCE)
            .map(self._read, _PARALLEL_CALLS, deterministic=True)
            .map(self._encode_all, _PARALLEL_CALLS, deterministic=True)
            .prefetch(1)
            .flat_map(self._split_steps)
            .map(self._batch, _PARALLEL_CALLS, deterministic=True)
        )
        if num_steps is not None:
            dataset = dataset.apply(
                tf.data.experimental.assert_cardinality(num_steps)
            )
        return loaders.prefetched(dataset)

    def _read(self, steps):
        """`G` steps -> texts and text_pairs `[G * B]`, choices, labels."""
        labels = self._labels

        def read(steps):
            rows = np.concatenate([self._order(step) for step in steps])
            examples = [self._examples[row] for row in rows]
            return (
                _bytes(e.text for e in examples),
                _bytes(e.text_pair for e in examples),
                _bytes(choice for e in examples for choice in e.choices),
                np.ascontiguousarray(labels[rows]),
            )

        *texts, labels_read = tf.numpy_function(
            read, [steps], [tf.string, tf.string, tf.string, labels.dtype]
        )
        return (
            *(tf.ensure_shape(text, [None]) for text in texts),
            tf.ensure_shape(labels_read, [None, *labels.shape[1:]]),
        )

    def _encode_all(self, text, text_pair, choices, labels):
        """Strings to ragged ids, all at once because each call is costly."""
        return (*map(self._encode, (text, text_pair, choices)), labels)

    def _split_steps(self, text, text_pair, choices, labels):
        """Ids of `G` steps to a Dataset of the ids of each."""

        def part(index):
            return tuple(
                each[size * index : size * (index + 1)]
                for each, size in (
                    (text, self.batch_size),
                    (text_pair, self.batch_size),
                    (choices, self.batch_size * self._num_choices),
                    (labels, self.batch_size),
                )
            )

        count = tf.shape(labels, tf.int64)[0] // self.batch_size
        return tf.data.Dataset.range(count).map(part)

    def _batch(self, text, text_pair, choices, labels):
        """Return the dict of a batch (`data.transforms.pad`)."""
        candidates = self._transform(
            text=text,
            text_pair=text_pair,
            choices=tf_transforms.Choices(choices, self._num_candidates),
            tokenizer=self._tokenizer,
            max_sequence_length=self._max_sequence_length,
        )
        longest = tf.shape(candidates.token_ids)[-1]
        # The shortest bucket that fits, or else the longest sequence.
        fitting = tf.constant(self._bucket_lengths)
        fitting = tf.boolean_mask(fitting, fitting >= longest)
        length = tf.concat([fitting, longest[None]], axis=0)[0]
        length = tf.minimum(length, self._max_sequence_length)
        token_ids = tf.pad(
            candidates.token_ids, [[0, 0], [0, 0], [0, length - longest]]
        )
        shape = [self.batch_size, self._num_candidates]
        position = tf.ensure_shape(candidates.extract_position, shape)
        place = tf.range(length)
        weights = (place > 0) & (place <= position[..., None])
        batch = batches.as_batch(
            tf.ensure_shape(token_ids, [*shape, None]),
            tf.cast(weights, tf.float32),
            position,
        )
        labels_shape = [self.batch_size, *self._labels.shape[1:]]
        return batch | {"labels": tf.ensure_shape(labels, labels_shape)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def _encode(self, texts):
        """Strings `[N]` -> ragged ids `[N, (ids)]`; traced once."""
        return self._graph(texts, limit=self._max_sequence_length)


def _num_characters(example):
    """Return the approximate length of the longest candidate."""
    longest = max(map(len, example.choices), default=0)
    return len(example.text) + len(example.text_pair) + longest


def _bytes(texts):
    return np.array([text.encode("utf-8") for text in texts], object)
