"""The text pipeline as a KerasHub tokenizer, so that presets carry it."""

import threading

import keras
import keras_hub
import numpy as np
from keras_hub.src.utils import preset_utils

from gpt1_keras.models import backbone
from gpt1_keras.text import tokenizer as tokenizer_lib

# -----------------------------------------------------------------------------
# Presets of every kind of backbone under the same classes.

_LOCK = threading.RLock()


class OfAnyBackbone:
    """`from_preset` that takes a subclass of `backbone_cls`, too.

    KerasHub looks for a class whose `backbone_cls` is the preset's own, so
    that an LSTM would need tokenizer, preprocessors and tasks of its own,
    though nothing in them differs. Stands before KerasHub's class among the
    bases.
    """

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """As KerasHub's, see there."""
        found = preset_utils.get_preset_loader(preset).check_backbone_class()
        usual = cls.backbone_cls
        if found is usual or not issubclass(found, usual):
            return super().from_preset(preset, **kwargs)
        with _LOCK:
            cls.backbone_cls = found
            try:
                return super().from_preset(preset, **kwargs)
            finally:
                cls.backbone_cls = usual


# -----------------------------------------------------------------------------
# The text pipeline as a KerasHub tokenizer, so that presets carry it.

_ASSETS = {
    "bpe": ["vocabulary.json", "merges.txt"],
    "wordpiece": ["vocabulary.txt"],
}


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1Tokenizer(OfAnyBackbone, keras_hub.tokenizers.Tokenizer):
    """`text.tokenizer.Tokenizer` with KerasHub's interface.

    Works in Python on every backend. A `tf.data` chain may call it, and calls
    Python then: such a graph cannot be saved without this process.

    Args:
        vocabulary: path of the vocabulary (`.json` for BPE, `.txt` for
            WordPiece), or None when assets are loaded later.
        merges: path of the merges of a BPE, or None.
        type: `"bpe"` or `"wordpiece"`.

    Attributes:
        pipeline: the `Tokenizer` that does the work.
        start_token_id, end_token_id, pad_token_id: pretraining knows no
            start token; generation stops at `end_token_id`, the newline;
            padding, which no loss and no unpadded position sees, is id 0,
            or 1 where 0 is the newline: a sampler stops where it sees it.
    """

    backbone_cls = backbone.GPT1Backbone

    def __init__(self, vocabulary=None, merges=None, *, type="bpe", **kwargs):
        super().__init__(**kwargs)
        self.type = type
        self.file_assets = _ASSETS[type]
        self.pipeline = None
        self.start_token_id = None
        self.end_token_id = None
        self.pad_token_id = 0
        if vocabulary is not None:
            self.set_pipeline(
                tokenizer_lib.Tokenizer.from_files(vocabulary, merges)
            )

    @classmethod
    def from_pipeline(cls, pipeline, **kwargs):
        """Wrap a `text.tokenizer.Tokenizer`."""
        tokenizer = cls(type=pipeline.type, **kwargs)
        tokenizer.set_pipeline(pipeline)
        return tokenizer

    def set_pipeline(self, pipeline):
        """Use `pipeline` for all work from now on."""
        self.pipeline = pipeline
        self.end_token_id = pipeline.newline_id
        self.pad_token_id = int(pipeline.newline_id == 0)

    @property
    def special_token_ids(self):
        """Ids that postprocessing strips: none of them is ever generated."""
        size = self.pipeline.vocabulary_size
        return [size, size + 1, size + 2]

    def tokenize(self, inputs):
        """Turn a string into a list of ids, a list of them into lists."""
        if isinstance(inputs, bytes):
            inputs = inputs.decode("utf-8")
        if isinstance(inputs, str):
            return self.pipeline.encode(inputs)
        if hasattr(inputs, "numpy"):
            inputs = inputs.numpy()
            if isinstance(inputs, bytes):
                return self.tokenize(inputs)
        if hasattr(inputs, "graph"):
            return self._tokenize_in_graph(inputs)
        return self.pipeline.encode_batch(
            [
                text.decode("utf-8") if isinstance(text, bytes) else str(text)
                for text in inputs
            ]
        )

    def _tokenize_in_graph(self, inputs):
        """Return ids `[n]` of a symbolic string, ragged of `[B]` strings."""
        import tensorflow as tf

        def encode(texts):
            rows = self.tokenize(list(texts))
            ids = np.array([i for row in rows for i in row], "int32")
            return ids, np.array([len(row) for row in rows], "int64")

        ids, lengths = tf.numpy_function(
            encode, [tf.reshape(inputs, [-1])], [tf.int32, tf.int64]
        )
        ids, lengths = (
            tf.ensure_shape(ids, [None]),
            tf.ensure_shape(lengths, [None]),
        )
        if inputs.shape.rank == 0:
            return ids
        return tf.RaggedTensor.from_row_lengths(ids, lengths)

    def call(self, inputs):
        return self.tokenize(inputs)

    def detokenize(self, inputs):
        """Turn ids into readable text; a list of lists into a list."""
        if keras.ops.is_tensor(inputs):
            inputs = keras.ops.convert_to_numpy(inputs)
        if len(inputs) and not np.isscalar(inputs[0]):
            return [self.pipeline.decode(list(map(int, x))) for x in inputs]
        return self.pipeline.decode(list(map(int, inputs)))

    def get_vocabulary(self):
        return list(self.pipeline.vocabulary)

    def vocabulary_size(self):
        """Number of tokens, special tokens not counted."""
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
        config = super().get_config()
        config.update({"type": self.type})
        return config
