"""KerasHub's own layer test, for every layer: config, files, dtype, training."""

import keras
import numpy as np
import pytest

from gpt1_keras.layers import attention
from gpt1_keras.layers import decoder_block
from gpt1_keras.layers import embedding
from gpt1_keras.layers import feed_forward
from gpt1_keras.layers import heads
from gpt1_keras.layers import lstm_block
from gpt1_keras.layers import tied_logits
from gpt1_keras.models import task_model
from tests.layers import embedding_test
from tests.reference import keras_hub_programs
from tests.reference import small_models

X = small_models.states(6, 7, 8)
FEATURES = small_models.states(4, 2, 16)
IDS = np.arange(12, dtype="int32").reshape(2, 2, 3)
PLACES = np.array([[2, 0], [1, 1]], "int32")
ATTENTION = {
    "hidden_dim": 8,
    "num_heads": 2,
    "attention_dropout": 0.1,
    "residual_dropout": 0.1,
    "initializer_range": 0.02,
}
HEAD = {"dropout": 0.1, "initializer_range": 0.02}
# The program asks for half precision in norms, states and logits, which are
# float32 here.
FLOAT32 = {"run_precision_checks": False}
# It trains on inputs and outputs with the batch in front.
UNTRAINED = {"run_training_check": False}
# Class, arguments, input, shape of the output, number of trainable weights
# and of other variables, options.
LAYERS = [
    (attention.CausalSelfAttention, ATTENTION, X, X.shape, 4, 2, {}),
    (
        decoder_block.DecoderBlock,
        ATTENTION | {"intermediate_dim": 20, "layer_norm_epsilon": 1e-5},
        *(X, X.shape, 12, 3, FLOAT32),
    ),
    *(
        (
            *(embedding.EMBEDDINGS[on], embedding_test.SIZES),
            embedding_test.IDS,
            ((2, 4, 64), (8, 64), (6, 64)),
            *(3, count, UNTRAINED),
        )
        for on, count in (("tables", 2), ("activations", 1))
    ),
    (
        feed_forward.FeedForward,
        {"hidden_dim": 8, "intermediate_dim": 20, "residual_dropout": 0.1}
        | {"initializer_range": 0.02},
        *(X, X.shape, 4, 1, {}),
    ),
    (heads.SumHead, HEAD | {"num_outputs": 3}, FEATURES, (4, 3), 2, 1, FLOAT32),
    (heads.ChoiceHead, HEAD, FEATURES, (4, 2), 2, 1, FLOAT32),
    (
        lstm_block.LSTMBlock,
        {"hidden_dim": 8, "num_units": 5, "residual_dropout": 0.1}
        | {"initializer_range": 0.02},
        *(X, X.shape, 5, 2, FLOAT32),
    ),
    (
        tied_logits.TiedLogits,
        {"vocabulary_size": 7},
        {"hidden": X, "table": small_models.states(10, 8)},
        *((6, 7, 7), 0, 0, FLOAT32 | UNTRAINED),
    ),
    (
        task_model.FlattenCandidates,
        {"dtype": "int32"},
        *(IDS, (4, 3), 0, 0, FLOAT32 | UNTRAINED),
    ),
    (
        task_model.GatherExtract,
        {},
        {"hidden": small_models.states(4, 3, 8), "extract_position": PLACES},
        *((2, 2, 8), 0, 0, FLOAT32 | UNTRAINED),
    ),
]


@pytest.mark.parametrize(
    "cls, arguments, x, shape, num_weights, num_others, options",
    LAYERS,
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_layer(cls, arguments, x, shape, num_weights, num_others, options):
    keras_hub_programs.programs().run_layer_test(
        cls=cls,
        init_kwargs=arguments,
        input_data=keras.tree.map_structure(keras.ops.convert_to_tensor, x),
        expected_output_shape=shape,
        expected_num_trainable_weights=num_weights,
        expected_num_non_trainable_variables=num_others,
        **options,
    )


def test_candidates_are_flattened_and_their_extract_states_gathered():
    flat = small_models.read(task_model.FlattenCandidates(dtype="int32")(IDS))
    np.testing.assert_array_equal(flat, IDS.reshape(4, 3))
    hidden = small_models.states(4, 3, 8)
    found = small_models.read(task_model.GatherExtract()(hidden, PLACES))
    expected = [[hidden[0, 2], hidden[1, 0]], [hidden[2, 1], hidden[3, 1]]]
    np.testing.assert_array_equal(found, expected)
