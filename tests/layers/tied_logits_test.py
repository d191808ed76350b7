import keras
import numpy as np

from gpt1_keras.layers import embedding
from tests.reference import small_models


def test_logits_of_the_vocabulary_without_special_tokens():
    hidden, table = small_models.states(2, 5, 8), small_models.states(10, 8)
    exact = hidden.astype("f8") @ table[:7].astype("f8").T
    layer = embedding.TiedLogits(vocabulary_size=7)
    assert layer.weights == []
    small_models.assert_close(layer(hidden, table), exact)
    layer = embedding.TiedLogits(vocabulary_size=7, dtype="mixed_bfloat16")
    logits = layer(hidden, table)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    # bfloat16 keeps 8 bits: wrong in the third digit, right in the first.
    assert 1e-4 < np.abs(small_models.read(logits) - exact).max() < 0.2
