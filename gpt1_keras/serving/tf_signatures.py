"""What a language model answers in TensorFlow Serving."""

import keras
import tensorflow as tf

from gpt1_keras.data import tf_transforms
from gpt1_keras.data import transforms
from gpt1_keras.tasks import task as task_lib

# -----------------------------------------------------------------------------
# Ids that users send, checked before a network looks them up.


def check_ids(token_ids, network):
    """Refuse ids and lengths that a network has no rows for.

    Some devices answer such ids with zeros, and negative ones count from the
    end: nobody would notice.

    Args:
        token_ids: int32 `[..., T]`.
        network: a Keras model with a `backbone`.

    Returns:
        `token_ids`; whoever uses them raises `InvalidArgumentError`.
    """
    backbone = network.backbone
    num_ids = backbone.vocabulary_size + backbone.num_special_tokens
    longest = backbone.max_sequence_length
    checks = [
        tf.debugging.assert_non_negative(
            token_ids, f"token_ids must be 0 to {num_ids - 1}"
        ),
        tf.debugging.assert_less(
            token_ids, num_ids, f"token_ids must be 0 to {num_ids - 1}"
        ),
        tf.debugging.assert_less_equal(
            tf.shape(token_ids)[-1],
            longest,
            f"token_ids must have at most {longest} positions",
        ),
    ]
    with tf.control_dependencies([check for check in checks if check]):
        return tf.identity(token_ids)


def check_positions(extract_position, token_ids):
    """Refuse positions outside the sequences.

    Args:
        extract_position: int32 `[B, C]`.
        token_ids: int32 `[B, C, T]`.

    Returns:
        `extract_position`, as `check_ids` does.
    """
    shape = tf.shape(token_ids)
    checks = [
        tf.debugging.assert_equal(
            tf.shape(extract_position),
            shape[:-1],
            "extract_position must be [B, C] for token_ids [B, C, T]",
        ),
        tf.debugging.assert_non_negative(
            extract_position, "extract_position must not be negative"
        ),
        tf.debugging.assert_less(
            extract_position,
            shape[-1],
            "extract_position must be less than T of token_ids [B, C, T]",
        ),
    ]
    with tf.control_dependencies([check for check in checks if check]):
        return tf.identity(extract_position)


# -----------------------------------------------------------------------------
# A network with its weights, as TensorFlow alone can run it.


class FrozenNetwork(tf.Module):
    """A Keras network whose weights are kept in a dtype of choice.

    Args:
        network: a Keras model, built.
        dtype: str, "float32" or "float16": how the weights are stored. They
            are computed with in the network's own dtype.

    Call arguments:
        inputs: as the network takes them.

    Returns:
        what the network returns, without dropout.
    """

    def __init__(self, network, dtype="float32"):
        super().__init__()
        self._network = _Untracked(network)
        self._weights = [
            [tf.Variable(_stored(value, dtype)) for value in values]
            for values in (
                network.trainable_variables,
                network.non_trainable_variables,
            )
        ]

    def __call__(self, inputs):
        network = self._network.value
        trainable, others = (
            [
                tf.cast(stored, variable.dtype)
                for stored, variable in zip(values, variables, strict=True)
            ]
            for values, variables in zip(
                self._weights,
                (network.trainable_variables, network.non_trainable_variables),
                strict=True,
            )
        )
        outputs, _ = network.stateless_call(
            trainable, others, inputs, training=False
        )
        return outputs


class _Untracked:
    """Keeps a SavedModel from taking the Keras object in."""

    def __init__(self, value):
        self.value = value


def _stored(variable, dtype):
    value = tf.convert_to_tensor(variable.value)
    return tf.cast(value, dtype) if value.dtype.is_floating else value


# -----------------------------------------------------------------------------
# What a fine-tuned model answers in TensorFlow Serving.


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
        self._network = FrozenNetwork(network, dtype)
        self._check_ids = lambda ids: check_ids(ids, network)
        self._tokenizer = tokenizer
        pipeline = preprocessor.tokenizer.pipeline
        self._special_ids = tf_transforms.SpecialIds(
            pipeline.start_id, pipeline.delimiter_id, pipeline.extract_id
        )
        self._transform = getattr(tf_transforms, preprocessor.transform)
        self._max_sequence_length = preprocessor.sequence_length
        self._label_space = task_lib.label_space_of(preprocessor)
        self.texts = transforms.SIGNATURES[preprocessor.transform].fields

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
                "extract_position": check_positions(
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
        space = self._label_space
        logits = tf.cast(logits, tf.float32)
        prediction = space.predict(logits, keras.ops)
        name = "label" if space.score_range is None else "score"
        if space.class_names:
            prediction = tf.gather(tf.constant(space.class_names), prediction)
        probabilities = space.probabilities(logits, keras.ops)
        if probabilities is None:
            return {name: prediction}
        return {name: prediction, "probabilities": probabilities}


# -----------------------------------------------------------------------------
# What a language model answers in TensorFlow Serving.


class LanguageModelServer(tf.Module):
    """A language model with its tokenizer, to be saved as SavedModel.

    Letters: `B` batch, `T` positions, `V` words of the vocabulary.

    Args:
        network: `GPT1CausalLM`.
        tokenizer: `tf_tokenizer.GraphTokenizer`.
        opening_id: int. What stands before the first token of a text.
        max_sequence_length: int.
        dtype: str, dtype the weights are stored in.

    Signatures:
        score: string `text` `[B]` -> `log_probability` float32 `[B]` (natural
            logarithm, summed over the tokens), `num_tokens` int32 `[B]` and
            `is_cut` bool `[B]`, whether the end of the text was left out.
            Also the default.
        tokens: `token_ids` int32 `[B, T]` -> `logits` float32 `[B, T, V]`.
            Ids and positions that there are not are an
            `InvalidArgumentError`.
    """

    texts = ("text",)

    def __init__(
        self,
        network,
        tokenizer,
        *,
        opening_id,
        max_sequence_length,
        dtype="float32",
    ):
        super().__init__()
        self._network = FrozenNetwork(network, dtype)
        self._check_ids = lambda ids: check_ids(ids, network)
        self._tokenizer = tokenizer
        self._opening_id = opening_id
        self._max_sequence_length = max_sequence_length

    def signatures(self):
        """Return dict from a signature's name to its concrete function."""
        score = tf.function(self.answer).get_concrete_function(
            text=tf.TensorSpec([None], tf.string, name="text")
        )
        tokens = tf.function(self.tokens).get_concrete_function(
            token_ids=tf.TensorSpec([None, None], tf.int32, name="token_ids")
        )
        return {"serving_default": score, "score": score, "tokens": tokens}

    def answer(self, text):
        """`score`."""
        ids, lengths, is_cut = self.ids(text)
        # [B, T - 1] are read, each predicts the next one.
        logits = self.tokens(ids[:, :-1])["logits"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            ids[:, 1:], tf.cast(logits, tf.float32)
        )
        is_there = tf.sequence_mask(lengths, tf.shape(losses)[1])
        log_probability = -tf.reduce_sum(tf.where(is_there, losses, 0.0), 1)
        return {
            "log_probability": log_probability,
            "num_tokens": lengths,
            "is_cut": is_cut,
        }

    def tokens(self, token_ids):
        """`tokens`."""
        token_ids = self._check_ids(token_ids)
        found = self._network(
            {
                "token_ids": token_ids,
                "padding_mask": tf.ones_like(token_ids),
            }
        )
        return {"logits": found}

    def ids(self, text):
        """Return ids `[B, T]` after the opening, lengths, what is cut."""
        limit = self._max_sequence_length
        ids = self._tokenizer(text, limit=limit + 1)
        is_cut = ids.row_lengths() > limit
        ids = ids[:, :limit]
        opening = tf.fill([ids.nrows(), 1], self._opening_id)
        padded = tf.concat([opening, ids], axis=1).to_tensor(0)
        return padded, tf.cast(ids.row_lengths(), tf.int32), is_cut
