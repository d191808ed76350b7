"""Its values: decoder_block_test.py; its cache: causal_lm_test.py."""

import keras
import numpy as np
import pytest

from gpt1_keras.layers import attention
from tests.reference import small_models


def make(dropout):
    """With a rate of 0.5 for the dropout of this name."""
    rates = {"attention_dropout": 0.0, "residual_dropout": 0.0, dropout: 0.5}
    layer = attention.CausalSelfAttention(
        hidden_dim=8, num_heads=2, initializer_range=0.02, **rates
    )
    return small_models.built(layer)


# Each block of queries draws a mask of its own.
@pytest.mark.parametrize(
    "name, block, draws",
    [
        *(("attention_dropout", 9, [1]), ("residual_dropout", 9, [1])),
        ("attention_dropout", 3, [3]),
    ],
)
def test_probabilities_and_output_have_dropouts_of_their_own(
    name, block, draws, monkeypatch
):
    monkeypatch.setattr(attention, "BLOCK", block)
    layer = make(name)
    x = small_models.states(6, 9, 8)
    still = small_models.read(layer(x))
    moved = small_models.read(layer(x, training=True))
    assert (0.2 < np.mean(moved == 0) < 0.8) == (name == "residual_dropout")
    assert np.any(still != moved)
    assert small_models.draws(layer) == draws


def test_the_fewest_equal_blocks():
    """None for lengths without equal blocks of more than half the size."""
    lengths = (1, 128, 129, 192, 256, 320, 509, 512)
    found = [attention._num_blocks(length) for length in lengths]
    assert found == [1, 1, 3, 2, 2, 4, 1, 4]


def test_the_kernel_attends_to_whole_texts_without_dropout_only(monkeypatch):
    """Its values: decoder_block_test.py."""
    calls = []
    monkeypatch.setattr(attention, "has_kernel", lambda: True)
    monkeypatch.setattr(
        attention, "_kernel", lambda query, key, value: calls.append(1) or query
    )
    layer = make("attention_dropout")
    x = keras.ops.convert_to_tensor(small_models.states(6, 7, 8))
    layer(x, training=True)
    layer(x, cache=keras.ops.zeros((6, 2, 2, 7, 4)))
    layer(x, allowed=keras.ops.ones((6, 7, 7), "bool"))
    assert not calls
    layer(x)
    assert calls
