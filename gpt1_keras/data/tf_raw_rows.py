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
    """`example_batches.TrainingExamples` that are tokenised during training.

    `transform` is the name of a function of `tf_transforms`. Examples are
    sorted by their length in characters, not in tokens, so their order differs.
    Truncated examples are not counted (`num_cut` is None), and
    `tokens_per_step` is an estimate.
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
        super().__init__(estimated, labels, **order)
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
        """Return the batches of consecutive steps; see `loaders.load`."""
        spec = dict.fromkeys(self._fields, (None, "string"))
        spec["labels"] = self.spec["labels"]
        read = loaders.in_graph(self._read, spec)
        chain = (
            tf.data.Dataset.range(first_step, first_step + num_steps)
            .map(read, _PARALLEL_CALLS, deterministic=True)
            .batch(_STEPS_AT_ONCE)
            .map(self._encode_all, _PARALLEL_CALLS, deterministic=True)
            .prefetch(1)
            .unbatch()
            .map(self._batch, _PARALLEL_CALLS, deterministic=True)
        )
        return loaders.prefetched(chain, num_steps)

    def _read(self, step):
        """Return {field: str `[B]` or `[B, C]`, "labels": `[B, ...]`}."""
        rows = self.order(step)
        columns = {"labels": self._labels[rows]}
        for field in self._fields:
            texts = [getattr(self._examples[row], field) for row in rows]
            columns[field] = np.array(texts, object)
        return columns

    def _encode_all(self, columns):
        """Encode the strings of `G` steps in one call, as calls are costly."""
        ids = {}
        for name in self._fields:
            texts = columns[name]
            # [G, B, ...] -> [G * N, (ids)] -> [G, N, (ids)]
            ids[name] = tf.RaggedTensor.from_uniform_row_length(
                self._encode(tf.reshape(texts, [-1])),
                tf.size(texts[0], tf.int64),
            )
        return columns | ids

    def _batch(self, columns):
        """Return the dict of a batch (`data.transforms.pad`)."""
        labels = columns.pop("labels")
        if "choices" in columns:
            choices = columns["choices"], self._num_candidates
            columns["choices"] = tf_transforms.Choices(*choices)
        candidates = self._transform(
            **columns,
            tokenizer=self._tokenizer,
            max_sequence_length=self._max_sequence_length,
        )
        longest = tf.shape(candidates.token_ids)[-1]
        # The shortest bucket that fits, or else the longest sequence.
        fitting = tf.constant(sorted(self._bucket_lengths))
        fitting = tf.boolean_mask(fitting, fitting >= longest)
        length = tf.concat([fitting, longest[None]], axis=0)[0]
        length = tf.minimum(length, self._max_sequence_length)
        position = candidates.extract_position
        place = tf.range(length)
        weights = (place > 0) & (place <= position[..., None])
        missing = [[0, 0], [0, 0], [0, length - longest]]
        token_ids = tf.pad(candidates.token_ids, missing)
        weights = tf.cast(weights, tf.float32)
        batch = batches.as_batch(token_ids, weights, position)
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
