"""The network that is trained: `C` candidate sequences, one forward pass."""

import keras
import keras_hub
import numpy as np
from keras import ops
from keras_hub.src.utils import pipeline_model

from gpt1_keras.layers import heads
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import builders
from gpt1_keras.models import loading
from gpt1_keras.models import preprocessors


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1TaskModel(loading.Task, keras_hub.models.TextClassifier):
    """Backbone and head over `C` candidate sequences per example.

    Letters: `B` batch, `C` candidates, `T` positions, `D` hidden_dim, `R` and
    `P` rows of the tables of tokens and positions, `Y` logits.

    Args:
        backbone: `GPT1Backbone`; with a head, one with special tokens.
        head: layer of `gpt1_keras.layers.heads` from features `[B, C, D]` to
            logits `[B, Y]`, or None for pretraining.
        preprocessor: `GPT1TaskPreprocessor`, saved with the preset, or None.
        num_classes: int, instead of a head: adds a new head for single texts
            to a copy of the backbone with special tokens.
        compile: bool. Whether to `compile()` at once, with its defaults.

    Call arguments:
        dict of int `token_ids` `[B, C, T]` and, with a head, int
        `extract_position` `[B, C]` of each candidate's extract token.

    Returns:
        dict of float32 `hidden` `[B * C, T, D]`, `table` `[R, D]` and
        `positions` `[P, D]` (for the language-model loss) and, with a head,
        float32 `logits` `[B, Y]`. `predict` returns the logits alone, or
        without a head the hidden states.

    `keras_hub.models.TextClassifier.from_preset` finds this class once
    `gpt1_keras.models` is imported. With `num_classes=2`, it also takes a
    pretrained preset. Keras's own `fit` trains without the auxiliary loss:

    ```python
    model = keras_hub.models.TextClassifier.from_preset("out/sst2/preset")
    logits = model.predict(["a fine film"])  # [1, 2]
    model.compile()
    model.fit(["a fine film", "dull"], np.array([1, 0]))
    ```
    """

    backbone_cls = backbone_lib.GPT1Backbone
    preprocessor_cls = preprocessors.GPT1TaskPreprocessor

    def __init__(
        self,
        backbone,
        head=None,
        preprocessor=None,
        num_classes=None,
        compile=False,
        name=None,
    ):
        if num_classes is not None:
            if head is not None:
                raise ValueError(
                    "the classes of a fine-tuned preset cannot be changed: give"
                    " num_classes with a pretrained one"
                )
            head = heads.SumHead(
                num_outputs=num_classes,
                dropout=backbone.residual_dropout,
                initializer_range=backbone.initializer_range,
                dtype="float32",
                name="head",
            )
            backbone = builders.transferred_backbone(
                backbone,
                num_transferred_layers=None,
                num_special_tokens=3,
                dtype=backbone.dtype_policy,
            )
            if preprocessor is not None:  # A run may read the saved preset.
                config = preprocessor.get_config()
                config["tokenizer"] = preprocessor.tokenizer
                config["task"] = preprocessor.task or "custom"
                if len(preprocessor.label_words) != num_classes:
                    config["label_words"] = map(str, range(num_classes))
                preprocessor = type(preprocessor).from_config(config)
        if preprocessor is not None and not backbone.num_special_tokens:
            raise ValueError(
                "this backbone is pretrained, without special tokens: give"
                " num_classes, or one of models.builders.transferred_backbone"
            )
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.head = head

        # === Functional Model ===
        token_ids = keras.Input((None, None), dtype="int32", name="token_ids")
        inputs = {"token_ids": token_ids}
        # [B, C, T] -> [B * C, T]
        hidden, table, positions = backbone.encode(
            FlattenCandidates(name="flatten_candidates")(token_ids)
        )
        outputs = {"hidden": hidden, "table": table, "positions": positions}
        if head is not None:
            places, outputs["logits"] = heads.read_extract(head, hidden)
            inputs["extract_position"] = places
        super().__init__(inputs, outputs, compile=compile, name=name)

    def compile(self, optimizer="auto", loss="auto", **kwargs):
        """See KerasHub; for regression, the loss "auto" is the squared error.

        For a score that is learned as a distribution over whole numbers
        (`LabelSpace.encode`), "auto" raises ValueError.
        """
        ours = self.preprocessor
        if loss == "auto" and getattr(ours, "score_range", None):
            if not ours.is_regression:
                raise ValueError("this score has no automatic loss: give one")
            loss = "mean_squared_error"
            kwargs.setdefault("metrics", [])
        super().compile(optimizer, loss, **kwargs)

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        sample_weight=None,
        validation_data=None,
        validation_split=None,
        **options,
    ):
        if validation_split and validation_data is None:
            parts = pipeline_model._train_validation_split(
                (x, y, sample_weight), validation_split
            )
            (x, y, sample_weight), validation_data = parts
        if isinstance(validation_data, tuple | list):
            unpack = keras.utils.unpack_x_y_sample_weight
            x_val, y_val, weights = unpack(validation_data)
            x_val, y_val, _, weights = _chain(x_val, y_val, batch_size, weights)
            validation_data = x_val, y_val, weights
        given = _chain(x, y, batch_size, sample_weight)
        return super().fit(*given, validation_data, **options)

    def evaluate(
        self, x=None, y=None, batch_size=None, sample_weight=None, **options
    ):
        given = _chain(x, y, batch_size, sample_weight)
        return super().evaluate(*given, **options)

    def predict(self, x=None, batch_size=None, **options):
        if isinstance(x, list | np.ndarray) and not len(x):
            # Keras fails only later and, on JAX, loses the weights.
            raise ValueError("x is empty: give at least one text")
        x, _, batch_size, _ = _chain(x, None, batch_size, None)
        return super().predict(x, batch_size, **options)

    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Preprocess raw strings; pass preprocessed arrays through."""
        if isinstance(x, dict) and "token_ids" in x:
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)

    def predict_step(self, *arguments):
        name = "hidden" if self.head is None else "logits"
        found = super().predict_step(*arguments)
        if isinstance(found, tuple):  # JAX also returns the state.
            return found[0][name], *found[1:]
        return found[name]

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        return super().compute_loss(
            x, y, y_pred["logits"], sample_weight, training
        )

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, y_pred["logits"], sample_weight)

    def get_config(self):
        head = keras.layers.serialize(self.head)
        return super().get_config() | {"head": head}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config.get("head"), dict):
            config["head"] = head = keras.layers.deserialize(config["head"])
            if not head.trainable:
                # Keras leaves the layers inside trainable, and TensorFlow
                # ignores a value that is not new.
                head.trainable = True
                head.trainable = False
        return super().from_config(config)


def _chain(x, y, batch_size, sample_weight):
    """Return columns as `tf.data` on TensorFlow, else the arguments.

    There, KerasHub's own loader fails if only the first two batches have the
    same length.
    """
    is_dataset = pipeline_model._is_tf_dataset(x)
    is_dataset |= pipeline_model._is_grain_dataset(x)
    if keras.config.backend() != "tensorflow" or is_dataset:
        return x, y, batch_size, sample_weight
    inputs = keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
    chain = pipeline_model._convert_inputs_to_tf_dataset(inputs, batch_size)
    return chain, None, None, None


@keras.saving.register_keras_serializable(package="gpt1_keras")
class FlattenCandidates(keras.layers.Layer):
    """`[B, C, T] -> [B * C, T]`."""

    def call(self, token_ids):
        return ops.reshape(token_ids, (-1, ops.shape(token_ids)[-1]))
