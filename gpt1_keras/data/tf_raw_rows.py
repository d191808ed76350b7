"""Training batches of labelled texts, tokenised inside tf.data."""

import types

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


class RawTrainingExamples(example_batches.TrainingExamples):
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
        measured = examples_lib.EncodedExamples(
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
        super().__init__(
            estimated, labels, bucket_lengths=sorted(bucket_lengths), **order
        )
        self._examples = examples
        self._fields = transforms.SIGNATURES[transform].fields
        self._num_candidates = measured.num_candidates
        self._tokenizer = tokenizer
        self._transform = getattr(tf_transforms, transform)
        self._max_sequence_length = max_sequence_length
        texts = (t for e in examples for t in (e.text, e.text_pair, *e.choices))
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
        """Return `({field: string [B] or [B, C]}, labels [B, ...])`."""

        def read(step):
            rows = self.order(step)
            examples = [self._examples[row] for row in rows]
            columns = ([getattr(e, f) for e in examples] for f in self._fields)
            return (
                *(_encoded(np.array(column, object)) for column in columns),
                np.ascontiguousarray(self._labels[rows]),
            )

        kinds = [*[tf.string] * len(self._fields), self._labels.dtype]
        *texts, labels = tf.numpy_function(read, [step], kinds)
        shape = [self.batch_size, self._num_candidates]
        texts = {
            name: tf.ensure_shape(text, shape[: 1 + (name == "choices")])
            for name, text in zip(self._fields, texts)
        }
        return texts, tf.ensure_shape(labels, self.spec["labels"][0])

    def _encode_all(self, texts, labels):
        """Strings of `G` steps to ragged ids, as each call is costly."""

        def encode(texts):
            # [G, B, ...] -> [G * N, (ids)] -> [G, N, (ids)]
            return tf.RaggedTensor.from_uniform_row_length(
                self._encode(tf.reshape(texts, [-1])),
                tf.size(texts[0], tf.int64),
            )

        return {name: encode(text) for name, text in texts.items()}, labels

    def _batch(self, texts, labels):
        """Return the dict of a batch (`data.transforms.pad`)."""
        if "choices" in texts:
            choices = texts["choices"], self._num_candidates
            texts = texts | {"choices": tf_transforms.Choices(*choices)}
        candidates = self._transform(
            **texts,
            tokenizer=self._tokenizer,
            max_sequence_length=self._max_sequence_length,
        )
        longest = tf.shape(candidates.token_ids)[-1]
        # The shortest bucket that fits, or else the longest sequence.
        fitting = tf.constant(self._bucket_lengths)
        fitting = tf.boolean_mask(fitting, fitting >= longest)
        length = tf.concat([fitting, longest[None]], axis=0)[0]
        length = tf.minimum(length, self._max_sequence_length)
        position = candidates.extract_position
        place = tf.range(length)
        weights = (place > 0) & (place <= position[..., None])
        batch = batches.as_batch(
            tf.pad(
                candidates.token_ids, [[0, 0], [0, 0], [0, length - longest]]
            ),
            tf.cast(weights, tf.float32),
            position,
        )
        return {
            name: tf.ensure_shape(value, self.spec[name][0])
            for name, value in (batch | {"labels": labels}).items()
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def _encode(self, texts):
        """Strings `[N]` -> ragged ids `[N, (ids)]`; traced once."""
        return self._graph(texts, limit=self._max_sequence_length)


def _num_characters(example):
    """Return the approximate length of the longest candidate."""
    longest = max(map(len, example.choices), default=0)
    return len(example.text) + len(example.text_pair) + longest


_encoded = np.vectorize(str.encode, otypes=[object])  # in UTF-8
