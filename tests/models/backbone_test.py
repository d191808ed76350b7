import keras
import numpy as np
import pytest
from keras.src import ops as keras_ops

from gpt1_keras.models import backbone
from gpt1_keras.models import lstm_backbone
from tests.reference import keras_hub_programs
from tests.reference import small_models

IDS = small_models.token_ids(6, 7)


def test_a_padding_mask_has_no_effect():
    """Nor is one needed: task_model_test.py has the released equations."""
    network = small_models.network()
    given = {"token_ids": IDS, "padding_mask": np.zeros_like(IDS)}
    expected = small_models.run(network, IDS)
    np.testing.assert_array_equal(small_models.read(network(given)), expected)


def test_mixed_bfloat16(monkeypatch):
    dtype_of = keras.backend.standardize_dtype
    model = small_models.network(dtype="mixed_bfloat16")
    products, softmaxes, norms = [], [], []

    def spy(name, seen):
        # Keras's own layers and ours reach the function by different modules.
        for module in (keras.ops, keras_ops):
            original = getattr(module, name)

            def spied(x, *args, original=original, **kwargs):
                tensors = [y for y in (x, *args) if hasattr(y, "dtype")]
                seen.append([dtype_of(y.dtype) for y in tensors])
                return original(x, *args, **kwargs)

            monkeypatch.setattr(module, name, spied)

    spy("matmul", products)
    spy("softmax", softmaxes)
    spy("layer_normalization", norms)
    states = model(small_models.inputs(IDS))
    assert dtype_of(states.dtype) == "float32"
    # In each block four dense layers, scores and their use: two operands.
    assert products == [["bfloat16"] * 2] * 12
    assert softmaxes == [["float32"]] * 2
    assert norms == [["float32"] * 3] * 4
    exact = small_models.run(small_models.network(), IDS)
    assert 1e-4 < np.abs(small_models.read(states) - exact).max() < 0.3


def test_initial_weights_that_differ_from_the_papers():
    keras.utils.set_random_seed(3)
    plain = backbone.GPT1Backbone(**small_models.SIZES)
    keras.utils.set_random_seed(3)
    changes = {"residual_scale": 0.25, "position_initializer": "sinusoids"}
    model = backbone.GPT1Backbone(**small_models.SIZES | changes)
    assert changes.items() <= model.get_config().items()
    for before, weight in zip(plain.weights, model.weights):
        before, after = map(keras.ops.convert_to_numpy, (before, weight))
        if weight.path.endswith("position_embeddings"):
            positions = after
        elif weight.path.endswith("output_dense/kernel"):
            np.testing.assert_allclose(after, 0.25 * before, rtol=1e-6)
        else:
            np.testing.assert_array_equal(after, before)
    # Vaswani et al. 2017, section 3.5, times sqrt(2) 0.02.
    angles = np.arange(12)[:, None] / 10_000 ** (np.arange(0, 8, 2) / 8)
    both = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    expected = 0.0282842712 * both.reshape(12, 8)
    np.testing.assert_allclose(positions, expected, atol=1e-7)
    for name in ("position_initializer", "embedding_dropout_on"):
        with pytest.raises(ValueError, match=f"no {name} 'x': choose one of"):
            backbone.GPT1Backbone(**small_models.SIZES | {name: "x"})


def test_operations_are_six_per_entry_of_each_product():
    model = small_models.network()
    # Layers of width 8 with 20 inner units: QKV and output, feed-forward.
    blocks = 2 * (8 * 24 + 8 * 8 + 2 * 8 * 20)
    assert model.flops_per_token(12) == 6 * (blocks + 23 * 8 + 2 * 12 * 8)
    assert model.flops_per_token(0, with_softmax=False) == 6 * blocks
    lstm = small_models.lstm_network()
    # Input and state to four gates of 10 units, and the output.
    assert lstm.flops_per_token(12) == 6 * ((8 + 10) * 40 + 80 + 23 * 8)


@keras.saving.register_keras_serializable(package="backbone_test")
class Named(backbone.GPT1Backbone):
    """As Keras users extend a class."""

    def __init__(self, *, title, **kwargs):
        super().__init__(**kwargs)
        self.title = title

    def get_config(self):
        return super().get_config() | {"title": self.title}


@pytest.mark.parametrize(
    "cls, sizes",
    [
        (lstm_backbone.LSTMBackbone, small_models.LSTM_SIZES),
        (Named, small_models.SIZES | {"title": "mine"}),
    ],
)
def test_keras_hub_backbone_program(cls, sizes):
    ones = keras.ops.ones((6, 7), dtype="int32")
    keras_hub_programs.programs().run_backbone_test(
        cls=cls,
        init_kwargs=sizes,
        input_data={"token_ids": ones, "padding_mask": ones},
        expected_output_shape=(6, 7, 8),
        # It asks for norms and states in half precision, ours are float32.
        run_mixed_precision_check=False,
    )
