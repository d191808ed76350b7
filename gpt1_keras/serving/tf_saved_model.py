"""SavedModels for TensorFlow Serving: signatures, and files on disk.

Letters: `B` batch, `C` candidates, `T` positions, `Y` logits, `V` vocabulary.
"""

import errno
import functools
import os
import pathlib
import tempfile

import keras
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from gpt1_keras import files
from gpt1_keras.data import tf_transforms
from gpt1_keras.data import transforms
from gpt1_keras.tasks import task as task_lib
from gpt1_keras.training import chunked_softmax

EXTRA = "assets.extra"
# Tokens of a text whose logits are in memory at once when it is scored.
_SOFTMAX_CHUNK = 512


class TaskServer(tf.Module):
    """A fine-tuned network with its tokenizer, to be saved as a SavedModel.

    `network` is a `GPT1TaskModel` with a head, whose weights are rounded to and
    stored in `dtype`; `tokenizer` is a `tf_tokenizer.GraphTokenizer`.

    Signatures:
        serving_default: strings `text` `[B]`, for tasks of two texts also
            `text_pair` `[B]`, for choices also `choices` `[B, C]` ->
            `probabilities` float32 `[B, Y]` and `label` `[B]` (class name or
            index of the choice), or for scores `score` float32 `[B]`; and
            `is_cut` bool `[B]`, whether a text was truncated.
        tokens: `token_ids` int32 `[B, C, T]`, `extract_position` int32
            `[B, C]` -> `logits` float32 `[B, Y]`. Out-of-range ids and
            positions raise `InvalidArgumentError`.
    """

    def __init__(self, network, tokenizer, dtype="float32"):
        super().__init__()
        preprocessor = network.preprocessor
        self._network = FrozenNetwork(network, dtype)
        self._check_ids = functools.partial(check_ids, network)
        self._tokenizer = tokenizer
        self._pipeline = preprocessor.tokenizer.pipeline
        self._transform = getattr(tf_transforms, preprocessor.transform)
        self.max_sequence_length = preprocessor.sequence_length
        self._label_space = task_lib.label_space_of(preprocessor)
        self.texts = transforms.SIGNATURES[preprocessor.transform].fields

    def signatures(self):
        """Return {name: concrete function}."""
        texts = {name: 2 if name == "choices" else 1 for name in self.texts}
        ids = {"token_ids": 3, "extract_position": 2}
        return {
            "serving_default": concrete(self.answer, tf.string, **texts),
            "tokens": concrete(self.tokens, tf.int32, **ids),
        }

    def answer(self, text, text_pair=None, choices=None):
        found = self.candidates(text, text_pair, choices)
        logits = self.tokens(found.token_ids, found.extract_position)["logits"]
        logits = tf.cast(logits, tf.float32)
        space = self._label_space
        prediction = space.predict(logits, keras.ops)
        if space.class_names:
            prediction = tf.gather(tf.constant(space.class_names), prediction)
        name = "label" if space.score_range is None else "score"
        answers = {name: prediction, "is_cut": found.is_cut}
        probabilities = space.probabilities(logits, keras.ops)
        if probabilities is not None:
            answers["probabilities"] = probabilities
        return answers

    def tokens(self, token_ids, extract_position):
        inputs = self._check_ids(token_ids, extract_position)
        return {"logits": self._network(inputs)["logits"]}

    def candidates(self, text, text_pair=None, choices=None):
        message = "text, text_pair and choices must have equal batch sizes"
        for each in (text_pair, choices):
            if each is not None:
                sizes = tf.shape(each)[0], tf.shape(text)[0]
                tf.debugging.assert_equal(*sizes, message)
        if choices is not None:
            num_choices = tf.shape(choices)[1]
            message = "choices must not be empty"
            tf.debugging.assert_positive(num_choices, message)
            choices = tf_transforms.Choices(
                self._encode(tf.reshape(choices, [-1])), num_choices
            )
        return self._transform(
            text=self._encode(text),
            text_pair=None if text_pair is None else self._encode(text_pair),
            choices=choices,
            tokenizer=self._pipeline,
            max_sequence_length=self.max_sequence_length,
        )

    def _encode(self, texts):
        # One more token than fits shows that a text was truncated.
        return self._tokenizer(texts, limit=self.max_sequence_length + 1)


class LanguageModelServer(tf.Module):
    """A language model with its tokenizer, to be saved as a SavedModel.

    `network` is a `GPT1CausalLM`; the other arguments are as in `TaskServer`.

    Signatures:
        score: string `text` `[B]` -> `log_probability` float32 `[B]` (natural
            logarithm, summed over the tokens), `num_tokens` int32 `[B]` and
            `is_cut` bool `[B]`, whether the text was truncated. This is also
            `serving_default`.
        tokens: `token_ids` int32 `[B, T]` -> `logits` float32 `[B, T, V]`.
            Out-of-range ids and positions raise `InvalidArgumentError`.
    """

    texts = ("text",)

    def __init__(self, network, tokenizer, dtype="float32"):
        super().__init__()
        backbone = network.backbone
        outputs = {
            "logits": network.output,
            "hidden": backbone.output,
            "table": backbone.table_output,
        }
        model = keras.Model(network.input, outputs)
        self._network = FrozenNetwork(model, dtype)
        self._vocabulary_size = backbone.vocabulary_size
        self._check_ids = functools.partial(check_ids, network)
        self._tokenizer = tokenizer
        self._opening_id = network.preprocessor.tokenizer.pipeline.opening_id
        self.max_sequence_length = backbone.max_sequence_length

    def signatures(self):
        """Return {name: concrete function}."""
        score = concrete(self.answer, tf.string, text=1)
        tokens = concrete(self.tokens, tf.int32, token_ids=2)
        return {"serving_default": score, "score": score, "tokens": tokens}

    def answer(self, text):
        ids, lengths, is_cut = self.ids(text)
        # [B, T - 1]: each token predicts the next one.
        outputs = self._outputs(ids[:, :-1])
        is_token = tf.sequence_mask(lengths, tf.shape(ids)[1] - 1)
        # [B, T - 1]; logits of a chunk at a time
        scores, _ = chunked_softmax.log_probabilities(
            outputs["hidden"],
            outputs["table"][: self._vocabulary_size],
            ids[:, 1:],
            tf.cast(is_token, tf.float32),
            chunk_size=_SOFTMAX_CHUNK,
        )
        return {
            "log_probability": tf.reduce_sum(scores, axis=1),
            "num_tokens": lengths,
            "is_cut": is_cut,
        }

    def tokens(self, token_ids):
        inputs = self._check_ids(token_ids)
        return {"logits": self._outputs(**inputs)["logits"]}

    def _outputs(self, token_ids):
        mask = tf.ones_like(token_ids)
        return self._network({"token_ids": token_ids, "padding_mask": mask})

    def ids(self, text):
        """Return ids `[B, T]` after the opening id, lengths and `is_cut`."""
        limit = self.max_sequence_length
        ids = self._tokenizer(text, limit=limit + 1)
        is_cut = ids.row_lengths() > limit
        ids = ids[:, :limit]
        opening = tf.fill([ids.nrows(), 1], self._opening_id)
        # At least two columns, so that `answer` has a position.
        padded = tf_transforms.dense(tf.concat([opening, ids], axis=1), 2)
        return padded, tf.cast(ids.row_lengths(), tf.int32), is_cut


def concrete(function, dtype, **ranks):
    """Return the concrete function for inputs {name: rank} of a dtype."""
    specs = {
        name: tf.TensorSpec([None] * rank, dtype, name=name)
        for name, rank in ranks.items()
    }
    compiled = tf.function(function, autograph=False)
    return compiled.get_concrete_function(**specs)


class FrozenNetwork(tf.Module):
    """A Keras network with its weights, run without dropout by TensorFlow.

    The weights are stored in `dtype`, "float32" or "float16". Those of the
    Keras network are rounded to it; the network computes in its own dtype.
    """

    def __init__(self, network, dtype="float32"):
        super().__init__()
        # In a function, so that the SavedModel does not include Keras objects.
        self._keras = lambda: network
        self._weights = []
        for variable in network.variables:
            value = tf.convert_to_tensor(variable.value)
            if value.dtype.is_floating:
                value = tf.cast(value, dtype)
                variable.assign(tf.cast(value, variable.dtype))
            self._weights.append(tf.Variable(value))

    def __call__(self, inputs):
        network = self._keras()
        pairs = zip(network.variables, self._weights, strict=True)
        values = [(known, tf.cast(w, known.dtype)) for known, w in pairs]
        with keras.StatelessScope(values):
            return network(inputs, training=False)


def check_ids(network, token_ids, extract_position=None):
    """Return the inputs by name; raise if one is out of range.

    Otherwise the answer would be silently wrong: some devices embed such ids as
    zeros, and negative ones count from the end.
    """
    backbone = network.backbone
    num_ids = backbone.vocabulary_size + backbone.num_special_tokens
    longest = backbone.max_sequence_length
    shape = tf.shape(token_ids)
    length = shape[-1]
    message = f"token_ids must be 0 to {num_ids - 1}"
    too_long = f"token_ids must have at most {longest} positions"
    inputs = {"token_ids": token_ids}
    tests = tf.debugging
    checked = [
        tests.assert_non_negative(token_ids, message),
        tests.assert_less(token_ids, num_ids, message),
        tests.assert_less_equal(length, longest, too_long),
    ]
    if extract_position is not None:
        inputs["extract_position"] = extract_position
        found = tf.shape(extract_position)
        name = "extract_position for token_ids [B, C, T] must be"
        checked += [
            tests.assert_equal(found, shape[:-1], f"{name} [B, C]"),
            tests.assert_non_negative(extract_position, f"{name} 0 to T - 1"),
            tests.assert_less(extract_position, length, f"{name} 0 to T - 1"),
        ]
    # Otherwise a look-up may fail first, with a less helpful message.
    with tf.control_dependencies(checked):
        return {name: tf.identity(value) for name, value in inputs.items()}


def write(server, directory, *, labels, requests):
    """Write `server` to a folder, in TensorFlow Serving's layout.

    `labels` (may be empty) are class names for `assets/labels.txt`; `requests`,
    {input: strings} each, are answered while a server loads, as warm-up. The
    default signature can also be called as `serve`, with a dict, which
    `keras.layers.TFSMLayer` needs.
    """
    with tempfile.TemporaryDirectory() as folder:
        if labels:
            path = pathlib.Path(folder) / "labels.txt"
            lines = [files.escape_line(label) + "\n" for label in labels]
            path.write_text("".join(lines), encoding="utf-8")
            server.labels = tf.saved_model.Asset(str(path))
        try:
            signatures = server.signatures()
            default = signatures["serving_default"]
            specs = tf.nest.flatten(default.structured_input_signature)
            server.serve = tf.function(
                lambda inputs: default(**inputs),
                input_signature=[{s.name: s for s in specs if s is not None}],
            )
            tf.saved_model.save(server, str(directory), signatures=signatures)
        except tf.errors.ResourceExhaustedError:  # The disk, not the memory.
            reason = os.strerror(errno.ENOSPC)
            raise OSError(errno.ENOSPC, reason, str(directory)) from None
        except tf.errors.OutOfRangeError:  # A limit of the shell or disk.
            reason = os.strerror(errno.EFBIG)
            raise OSError(errno.EFBIG, reason, str(directory)) from None
    extra = directory / EXTRA
    extra.mkdir()
    path = extra / "tf_serving_warmup_requests"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for request in requests:
            log = prediction_log_pb2.PredictionLog()
            warm_up = log.predict_log.request
            warm_up.model_spec.name = "gpt1_keras"  # The server replaces it.
            warm_up.model_spec.signature_name = "serving_default"
            for name, value in request.items():
                warm_up.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            writer.write(log.SerializeToString())


def next_version(folder):
    """Return the path of the next version; servers take the highest one."""
    names = (path.name for path in folder.glob("*"))
    versions = [int(name) for name in names if name.isdecimal()]
    return folder / str(max(versions, default=0) + 1)
