"""KerasHub tokenizer and preprocessors: strings to the models' inputs."""

import keras
import keras_hub
import numpy as np

from gpt1_keras import checks
from gpt1_keras.data import transforms
from gpt1_keras.layers import configured
from gpt1_keras.models import backbone
from gpt1_keras.models import loading
from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer as tokenizer_lib

_ASSETS = {
    "bpe": [subwords.BYTE_PAIR_VOCABULARY, subwords.MERGES],
    "wordpiece": [subwords.WORD_PIECE_VOCABULARY],
}


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1Tokenizer(
    loading.FromAnyBackbonePreset, keras_hub.tokenizers.Tokenizer
):
    """`text.tokenizer.Tokenizer` with KerasHub's interface.

    In a `tf.data` pipeline it calls back into Python. Such a graph cannot be
    saved, unlike that of `text.tf_tokenizer`.

    Args:
        vocabulary: path of the vocabulary (`.json` for BPE, `.txt` for
            WordPiece), or None to load assets later.
        merges: path of the merges, for BPE.
        type: `"bpe"` or `"wordpiece"`.

    Attributes:
        pipeline: the `text.tokenizer.Tokenizer`.
        start_token_id: None, because pretraining has no start token.
        end_token_id: id of the newline, where generation stops.
        pad_token_id: 0, or 1 if 0 is the newline; no loss counts it, and no
            position before the padding sees it.
    """

    backbone_cls = backbone.GPT1Backbone
    pipeline = start_token_id = end_token_id = None
    pad_token_id = 0

    def __init__(self, vocabulary=None, merges=None, *, type="bpe", **kwargs):
        super().__init__(**kwargs)
        self.built = True  # `quantize` of a model asks every layer.
        self.type = type
        self.file_assets = checks.find_name(type, _ASSETS, "tokenizer type")
        if vocabulary is not None:
            self.set_pipeline(
                tokenizer_lib.Tokenizer.from_files(vocabulary, merges)
            )

    @classmethod
    def from_pipeline(cls, pipeline):
        tokenizer = cls()
        tokenizer.set_pipeline(pipeline)
        return tokenizer

    def set_pipeline(self, pipeline):
        self.pipeline, self.type = pipeline, pipeline.type
        self.file_assets = _ASSETS[self.type]
        self.end_token_id = pipeline.newline_id
        self.pad_token_id = int(pipeline.newline_id == 0)

    @property
    def special_token_ids(self):
        """Ids that postprocessing strips; the model never generates them."""
        ours = self.pipeline
        return [ours.start_id, ours.delimiter_id, ours.extract_id]

    def tokenize(self, inputs):
        """Return the ids of a text (str, bytes, tensor) or of several texts."""
        if hasattr(inputs, "graph"):
            return self._tokenize_in_graph(inputs)
        texts = _as_lists(inputs)
        if isinstance(texts, str):
            return self.pipeline.encode(texts)
        if any(isinstance(text, list) for text in texts):
            return list(map(self.tokenize, texts))
        return self.pipeline.encode_batch(texts)

    def _tokenize_in_graph(self, inputs):
        """Return ids `[n]` of a symbolic string, or ragged ids of `[B]`."""
        import tensorflow as tf

        if inputs.shape.rank not in (0, 1):
            raise ValueError(f"texts of shape {inputs.shape}: give them as [B]")

        def encode(texts):
            rows = self.tokenize(list(texts))
            ids = np.array([i for row in rows for i in row], "int32")
            return ids, np.array([len(row) for row in rows], "int64")

        found = tf.numpy_function(
            encode, [tf.reshape(inputs, [-1])], [tf.int32, tf.int64]
        )
        ids, lengths = (tf.ensure_shape(each, [None]) for each in found)
        if inputs.shape.rank == 0:
            return ids
        return tf.RaggedTensor.from_row_lengths(ids, lengths)

    def detokenize(self, inputs):
        """Return the text of ids, or a list of texts for a list of lists."""
        if hasattr(inputs, "to_list"):  # of rows of different lengths
            inputs = inputs.to_list()
        elif keras.ops.is_tensor(inputs):
            inputs = keras.ops.convert_to_numpy(inputs)
        if len(inputs) and not np.isscalar(inputs[0]):
            return list(map(self.pipeline.decode, inputs))
        return self.pipeline.decode(inputs)

    def get_vocabulary(self):
        return list(self.pipeline.vocabulary)

    def vocabulary_size(self):
        return self.pipeline.vocabulary_size

    def id_to_token(self, id):
        return self.pipeline.vocabulary[id]

    def token_to_id(self, token):
        return self.pipeline.vocabulary.index(token)

    def save_assets(self, dir_path):
        self.pipeline.save(dir_path)

    def load_assets(self, dir_path):
        self.set_pipeline(tokenizer_lib.Tokenizer.from_directory(dir_path))

    def get_config(self):
        return super().get_config() | {"type": self.type}


class _Preprocessor(loading.FromAnyBackbonePreset):
    backbone_cls = backbone.GPT1Backbone
    tokenizer_cls = GPT1Tokenizer

    @classmethod
    def _add_missing_kwargs(cls, loader, kwargs):
        """Take the backbone's length if the preset has no preprocessor."""
        super()._add_missing_kwargs(loader, kwargs)
        length = loader.config["config"]["max_sequence_length"]
        kwargs.setdefault("sequence_length", length)
        return kwargs


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1CausalLMPreprocessor(
    _Preprocessor, keras_hub.models.CausalLMPreprocessor
):
    """Strings to padded ids for `GPT1CausalLM`, and back.

    This is KerasHub's preprocessor without start and end tokens: GPT-1 was
    pretrained on contiguous text, which has neither. An empty prompt becomes
    the opening token (`Tokenizer.opening_id`).
    """

    def __init__(self, tokenizer, sequence_length=512, **kwargs):
        tokens = {"add_start_token": False, "add_end_token": False}
        super().__init__(
            tokenizer, sequence_length=sequence_length, **tokens | kwargs
        )

    def _generate_preprocess_python(self, x, sequence_length=None):
        found = super()._generate_preprocess_python(x, sequence_length)
        if hasattr(found["token_ids"], "graph"):  # in a `tf.data` pipeline
            return found
        ids, mask = (np.array(found[k]) for k in ("token_ids", "padding_mask"))
        is_empty = ~mask.any(axis=-1)
        if not is_empty.any():
            return found
        opening = self.tokenizer.pipeline.opening_id
        ids[..., 0] = np.where(is_empty, opening, ids[..., 0])
        mask[..., 0] |= is_empty
        return {"token_ids": ids, "padding_mask": mask}


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1TaskPreprocessor(
    _Preprocessor,
    configured.Configured,
    keras_hub.models.TextClassifierPreprocessor,
):
    """Strings of a task to the inputs of `GPT1TaskModel`.

    In a fine-tuned preset, only these settings describe the task.

    Args:
        tokenizer: `GPT1Tokenizer`.
        transform: str. Name of a function of `data.transforms`.
        sequence_length: int. Longest sequence.
        task: str. Name of the task.
        label_words: list of str, the class names; empty for choices and
            scores.
        score_range: list of two numbers for a score, else None.
        is_regression: bool. Whether one logit is the score itself.

    Call arguments:
        x: dict of lists of `B` entries: `text` and, if the task has them,
            `text_pair` and `choices` (lists of `C` str); other columns are
            ignored. Or the list of texts alone. Arrays and TensorFlow tensors
            of strings also work, as do `tf.data` pipelines, batched or not.

    Returns:
        dict of int32 numpy arrays (tensors in a `tf.data` pipeline):
        `token_ids` `[B, C, T]` and `extract_position` `[B, C]`, where `T` is
        the longest sequence. A single string, or a dict of strings, gives
        `[C, sequence_length]` and `[C]`, to be batched later.
    """

    def __init__(
        self,
        tokenizer,
        *,
        transform="classification",
        sequence_length=512,
        task="",
        label_words=(),
        score_range=None,
        is_regression=False,
        **kwargs,
    ):
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
        checks.find_name(transform, transforms.SIGNATURES, "transform")
        self.transform = transform
        self.task = task
        self.label_words = list(label_words)
        self.score_range = score_range
        self.is_regression = is_regression

    def build(self, input_shape):
        """Make no packer, which `quantize` of a model would find unbuilt."""
        self.built = True

    def call(self, x, y=None, sample_weight=None):
        columns = x if isinstance(x, dict) else {"text": x}
        known = transforms.SIGNATURES[self.transform].fields
        # With choices, the question is optional.
        fields = {*known} - ({"text_pair"} if "choices" in known else set())
        if not fields <= columns.keys() or isinstance(x, tuple):
            given = columns if isinstance(x, dict) else [type(x).__name__]
            raise ValueError(
                f"{self.transform} takes a dict of {', '.join(sorted(fields))},"
                f" but {', '.join(sorted(given))} is given"
            )
        columns = {name: columns[name] for name in known if name in columns}
        if any(hasattr(column, "graph") for column in columns.values()):
            arrays = self._arrays_in_graph(columns)
        else:
            arrays = self._arrays(columns)
        return keras.utils.pack_x_y_sample_weight(arrays, y, sample_weight)

    def _arrays(self, columns):
        columns = {name: _as_lists(value) for name, value in columns.items()}
        is_one = isinstance(columns["text"], str)
        if is_one:
            columns = {name: [value] for name, value in columns.items()}
        pipeline = self.tokenizer.pipeline
        transform = getattr(transforms, self.transform)
        candidates = []
        for row in zip(*columns.values(), strict=True):
            texts = dict(zip(columns, row))
            if not isinstance(texts["text"], str):
                raise ValueError("`text` holds lists: give a dict of columns")
            found = transform(
                *transforms.encoded(pipeline.encode, **texts),
                tokenizer=pipeline,
                max_sequence_length=self.sequence_length,
            )
            candidates.append(found.candidates)
        if len({len(each) for each in candidates}) > 1:
            raise ValueError("give all rows the same number of choices")
        longest = max(len(ids) for each in candidates for ids in each)
        length = self.sequence_length if is_one else longest
        arrays = transforms.pad(candidates, length=length)
        del arrays["token_weights"]
        return {k: v[0] for k, v in arrays.items()} if is_one else arrays

    def _arrays_in_graph(self, columns):
        """Call `_arrays` from a `tf.data` pipeline."""
        import tensorflow as tf

        def make(*values):
            arrays = self._arrays(dict(zip(columns, values)))
            return arrays["token_ids"], arrays["extract_position"]

        token_ids, extract_position = tf.numpy_function(
            make, list(columns.values()), [tf.int32, tf.int32]
        )
        is_batch = columns["text"].shape.rank > 0
        # [B, C], of one text [C]
        signature = transforms.SIGNATURES[self.transform]
        shape = [None] * is_batch + [signature.num_candidates]
        length = None if is_batch else self.sequence_length
        return {
            "token_ids": tf.ensure_shape(token_ids, [*shape, length]),
            "extract_position": tf.ensure_shape(extract_position, shape),
        }


def _as_lists(column):
    """Return bytes, arrays or tensors as a str or nested lists of str."""
    if hasattr(column, "numpy"):
        column = column.numpy()
    if hasattr(column, "tolist"):
        column = column.tolist()
    if isinstance(column, bytes):
        return column.decode("utf-8")
    if isinstance(column, str):
        return column
    if hasattr(column, "keys"):
        raise TypeError(f"{type(column).__name__} is no text: give its columns")
    return [_as_lists(each) for each in column]
