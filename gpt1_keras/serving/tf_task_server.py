"""What a fine-tuned model answers in TensorFlow Serving."""

import tensorflow as tf

from gpt1_keras.data import tf_transforms
from gpt1_keras.serving import tf_checks
from gpt1_keras.serving import tf_weights

_TEXTS = {
    "classification": ("text",),
    "entailment": ("text", "text_pair"),
    "similarity": ("text", "text_pair"),
    "multiple_choice": ("text", "text_pair", "choices"),
}


class TaskServer(tf.Module):
    """A fine-tuned network with its tokenizer, to be saved as SavedModel.

    Letters: `B` batch, `C` candidates, `T` positions, `Y` logits.

    Args:
        network: `GPT1TaskModel` with a head.
        tokenizer: `tf_tokenizer.GraphTokenizer`.
        dtype: str, dtype the weights are stored in.

    Signatures:
        serving_default: strings `text` `[B]`, for tasks of two texts
            `text_pair` `[B]`, for choices `choices` `[B, C]` too ->
            `probabilities` float32 `[B, Y]`, `label` `[B]` (the word of the
            class, the index of the choice), or for scores `score` float32
            `[B]`; and `is_cut` bool `[B]`, whether a text was too long.
        tokens: `token_ids` int32 `[B, C, T]`, `extract_position` int32
            `[B, C]` -> `logits` float32 `[B, Y]`. Ids and positions that
            there are not are an `InvalidArgumentError`.
    """

    def __init__(self, network, tokenizer, dtype="float32"):
        super().__init__()
        preprocessor = network.preprocessor
        self._network = tf_weights.FrozenNetwork(network, dtype)
        self._check_ids = lambda ids: tf_checks.check_ids(ids, network)
        self._tokenizer = tokenizer
        pipeline = preprocessor.tokenizer.pipeline
        self._special_ids = tf_transforms.SpecialIds(
            pipeline.start_id, pipeline.delimiter_id, pipeline.extract_id
        )
        self._transform = getattr(tf_transforms, preprocessor.transform)
        self._max_sequence_length = preprocessor.sequence_length
        self._words = list(preprocessor.label_words)
        self._range = preprocessor.score_range
        self._is_regression = preprocessor.is_regression
        self.texts = _TEXTS[preprocessor.transform]

    def signatures(self):
        """Return dict from a signature's name to its concrete function."""
        strings = {
            name: tf.TensorSpec(
                [None, None] if name == "choices" else [None],
                tf.string,
                name=name,
            )
            for name in self.texts
        }
        ids = {
            "token_ids": tf.TensorSpec(
                [None, None, None], tf.int32, name="token_ids"
            ),
            "extract_position": tf.TensorSpec(
                [None, None], tf.int32, name="extract_position"
            ),
        }
        return {
            "serving_default": tf.function(self.answer).get_concrete_function(
                **strings
            ),
            "tokens": tf.function(self.tokens).get_concrete_function(**ids),
        }

    def answer(self, text, text_pair=None, choices=None):
        """`serving_default`."""
        candidates = self.candidates(text, text_pair, choices)
        logits = self.tokens(candidates.token_ids, candidates.extract_position)[
            "logits"
        ]
        return self._meaning(logits) | {"is_cut": candidates.is_cut}

    def tokens(self, token_ids, extract_position):
        """`tokens`."""
        token_ids = self._check_ids(token_ids)
        found = self._network(
            {
                "token_ids": token_ids,
                "extract_position": tf_checks.check_positions(
                    extract_position, token_ids
                ),
            }
        )
        return {"logits": found["logits"]}

    def candidates(self, text, text_pair=None, choices=None):
        """Return `tf_transforms.Candidates` of strings."""
        size = tf.shape(text)[0]
        for each in (text_pair, choices):
            if each is not None:
                tf.debugging.assert_equal(
                    tf.shape(each)[0],
                    size,
                    "text, text_pair and choices must have equal batch sizes",
                )
        if choices is not None:
            num_choices = tf.shape(choices)[1]
            tf.debugging.assert_positive(
                num_choices, "choices must not be empty"
            )
            choices = tf_transforms.Choices(
                self._encode(tf.reshape(choices, [-1])), num_choices
            )
        return self._transform(
            text=self._encode(text),
            text_pair=None if text_pair is None else self._encode(text_pair),
            choices=choices,
            special_ids=self._special_ids,
            max_sequence_length=self._max_sequence_length,
        )

    def _encode(self, texts):
        # One more than fits says that something was cut.
        return self._tokenizer(texts, limit=self._max_sequence_length + 1)

    def _meaning(self, logits):
        if self._is_regression:
            return {"score": tf.clip_by_value(logits[:, 0], *self._range)}
        probabilities = tf.nn.softmax(tf.cast(logits, tf.float32))
        if self._range is not None:
            low, high = self._range
            numbers = tf.range(low, high + 1, dtype=tf.float32)
            score = tf.linalg.matvec(probabilities, numbers)
            return {"score": score, "probabilities": probabilities}
        label = tf.argmax(logits, axis=-1, output_type=tf.int32)
        if self._words:
            label = tf.gather(tf.constant(self._words), label)
        return {"probabilities": probabilities, "label": label}
