"""Text pipeline as a KerasHub tokenizer, which presets carry."""

import keras
import keras_hub
import numpy as np

from gpt1_keras.models import backbone
from gpt1_keras.text import tokenizer as tokenizer_lib

_ASSETS = {
    "bpe": ["vocabulary.json", "merges.txt"],
    "wordpiece": ["vocabulary.txt"],
}


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1Tokenizer(
    backbone.FromAnyBackbonePreset, keras_hub.tokenizers.Tokenizer
):
    """`text.tokenizer.Tokenizer` with KerasHub's interface.

    Runs in Python on every backend. In a `tf.data` chain it is a call back
    into Python; such a graph cannot be saved. `text.tf_tokenizer` is the
    tokenizer that can.

    Args:
        vocabulary: path of the vocabulary (`.json` for BPE, `.txt` for
            WordPiece), or None to load assets later.
        merges: path of the merges of a BPE, or None.
        type: `"bpe"` or `"wordpiece"`.

    Attributes:
        pipeline: the `text.tokenizer.Tokenizer` that does the work.
        start_token_id: None, because pretraining has no start token.
        end_token_id: id of the newline, where generation stops.
        pad_token_id: 0, or 1 where 0 is the newline; neither a loss nor an
            unpadded position sees it.
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
        """Replace the pipeline."""
        self.pipeline = pipeline
        self.end_token_id = pipeline.newline_id
        self.pad_token_id = int(pipeline.newline_id == 0)

    @property
    def special_token_ids(self):
        """Ids that postprocessing strips; none is ever generated."""
        size = self.pipeline.vocabulary_size
        return [size, size + 1, size + 2]

    def tokenize(self, inputs):
        """Return the ids of a string, or a list of ids for each of several.

        Args:
            inputs: str, bytes or a string tensor; or a list or array of them.
        """
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
        """Return ids `[n]` of a symbolic string; of `[B]` strings, ragged."""
        import tensorflow as tf

        def encode(texts):
            rows = self.tokenize(list(texts))
            ids = np.array([i for row in rows for i in row], "int32")
            return ids, np.array([len(row) for row in rows], "int64")

        ids, lengths = tf.numpy_function(
            encode, [tf.reshape(inputs, [-1])], [tf.int32, tf.int64]
        )
        ids = tf.ensure_shape(ids, [None])
        lengths = tf.ensure_shape(lengths, [None])
        if inputs.shape.rank == 0:
            return ids
        return tf.RaggedTensor.from_row_lengths(ids, lengths)

    def call(self, inputs):
        return self.tokenize(inputs)

    def detokenize(self, inputs):
        """Return the text of ids, or a list of texts for a list of lists."""
        if keras.ops.is_tensor(inputs):
            inputs = keras.ops.convert_to_numpy(inputs)
        if len(inputs) and not np.isscalar(inputs[0]):
            return [self.pipeline.decode(list(map(int, x))) for x in inputs]
        return self.pipeline.decode(list(map(int, inputs)))

    def get_vocabulary(self):
        return list(self.pipeline.vocabulary)

    def vocabulary_size(self):
        """Return the number of tokens without special tokens."""
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
