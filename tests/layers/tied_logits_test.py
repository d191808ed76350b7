import keras
import numpy as np

from gpt1_keras.layers import tied_logits
from tests.reference import keras_hub_programs
from tests.reference import small_models


def arrays():
    random = np.random.default_rng(3)
    hidden = random.normal(size=(2, 5, 8)).astype("float32")
    return hidden, random.normal(size=(10, 8)).astype("float32")


def test_scores_the_vocabulary_without_specials():
    hidden, table = arrays()
    layer = tied_logits.TiedLogits(vocabulary_size=7)
    assert layer.weights == []
    logits = small_models.read(layer(hidden, table))
    assert logits.shape == (2, 5, 7)
    np.testing.assert_allclose(
        logits, hidden.astype("f8") @ table[:7].astype("f8").T, atol=1e-5
    )


def test_logits_are_float32_of_a_bfloat16_product():
    hidden, table = arrays()
    layer = tied_logits.TiedLogits(vocabulary_size=7, dtype="mixed_bfloat16")
    logits = layer(hidden, table)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    exact = hidden.astype("f8") @ table[:7].astype("f8").T
    error = np.abs(small_models.read(logits) - exact).max()
    # bfloat16 keeps 8 bits: wrong in the third digit, right in the first.
    assert 1e-4 < error < 0.2


def test_keras_hub_layer_program():
    hidden, table = map(keras.ops.convert_to_tensor, arrays())
    keras_hub_programs.programs().run_layer_test(
        cls=tied_logits.TiedLogits,
        init_kwargs={"vocabulary_size": 7},
        input_data={"hidden": hidden, "table": table},
        expected_output_shape=(2, 5, 7),
        # It trains on inputs with the batch in front, and asks for logits in
        # half precision, ours are float32.
        run_training_check=False,
        run_precision_checks=False,
    )
