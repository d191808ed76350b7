import keras
import numpy as np
import pytest

from gpt1_keras.layers import embedding
from tests.reference import small_models

IDS = np.array([[1, 2, 1, 5], [1, 4, 4, 7]], "int32")
SIZES = {
    **{"vocabulary_size": 5, "num_special_tokens": 3, "hidden_dim": 64},
    **{"max_sequence_length": 6, "dropout": 0.5, "initializer_range": 0.02},
}


def make(on):
    return small_models.built(embedding.EMBEDDINGS[on](**SIZES))


def call(layer, ids=IDS, **kwargs):
    """hidden, table, positions as float64."""
    return [small_models.read(x) for x in layer(ids, **kwargs)]


@pytest.mark.parametrize("on", embedding.EMBEDDINGS)
def test_without_training_rows_are_added(on):
    layer = make(on)
    hidden, table, positions = call(layer)
    tokens = small_models.read(layer.token_embeddings)
    specials = small_models.read(layer.special_embeddings)
    np.testing.assert_array_equal(table, np.concatenate([tokens, specials]))
    np.testing.assert_array_equal(
        positions, small_models.read(layer.position_embeddings)
    )
    np.testing.assert_allclose(hidden, table[IDS] + positions[:4], atol=1e-6)
    assert not any(small_models.draws(layer))
    part, *_ = call(layer, IDS[:, 2:], position_ids=np.array([[2, 3]]))
    np.testing.assert_array_equal(part, hidden[:, 2:])
    places = np.array([[5, 0, 0, 3], [2, 1, 4, 4]], "int32")
    moved, *_ = call(layer, position_ids=places)
    np.testing.assert_allclose(moved, table[IDS] + positions[places], atol=1e-6)


def test_tables_share_one_mask_between_all_uses():
    layer = make("tables")
    _, *whole = call(layer)
    hidden, table, positions = call(layer, training=True)
    for dropped, full in zip((table, positions), whole):
        small_models.assert_half_dropped(dropped, full)
    # Every occurrence of a token has its row of the one dropped table.
    np.testing.assert_allclose(hidden, table[IDS] + positions[:4], atol=1e-6)
    # The masks of the two tables are different.
    assert np.any((table[:6] == 0) != (positions == 0))


def test_activations_have_masks_of_their_own():
    layer = make("activations")
    whole, *tables = call(layer)
    hidden, *used = call(layer, training=True)
    for ours, full in zip(used, tables):
        np.testing.assert_array_equal(ours, full)
    small_models.assert_half_dropped(hidden, whole)
    kept = hidden != 0
    # Token 1 twice in a sequence, and at one position of two sequences.
    assert np.any(kept[0, 0] != kept[0, 2])
    assert np.any(kept[0, 0] != kept[1, 0])


def test_logits_of_the_vocabulary_in_bfloat16():
    """In float32: causal_lm_test.py."""
    hidden, table = small_models.states(2, 5, 8), small_models.states(10, 8)
    exact = hidden.astype("f8") @ table[:7].astype("f8").T
    layer = embedding.TiedLogits(vocabulary_size=7, dtype="mixed_bfloat16")
    logits = layer(hidden, table)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    # bfloat16 keeps 8 bits: wrong in the third digit, right in the first.
    assert 1e-4 < np.abs(small_models.read(logits) - exact).max() < 0.2
