import re

import keras
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.models import transfer
from tests.reference import small_models
from tests.reference import tiny_fine_tuned

NUM_LAYERS = 3
EMBEDDING = "token_and_position_embedding"


def source_network(**changes):
    """A network none of whose weights has the value of a new one."""
    changes = {"num_layers": NUM_LAYERS, "num_special_tokens": 0} | changes
    return small_models.network(**changes)


def transferred(source, k, **changes):
    changes = {"num_special_tokens": 3} | changes
    return transfer.transferred_backbone(
        source, num_transferred_layers=k, **changes
    )


def weights(network):
    """`{layer and name: array}`, without the name of the model."""
    found = {}
    for weight in network.trainable_weights:
        path = re.search(rf"({EMBEDDING}|decoder_block_\d+)/.*", weight.path)
        found[path[0]] = tiny_fine_tuned.as_array(weight.value)
    return found


def part(name):
    """0 for the tables of tokens and positions, 1 .. L for a block."""
    if name.startswith("decoder_block_"):
        return 1 + int(name.removeprefix("decoder_block_").partition("/")[0])
    return 0


@pytest.mark.parametrize("k", [-1, 0, 1, 2, NUM_LAYERS, None])
def test_first_blocks_and_only_those_come_from_the_source(k):
    source = source_network()
    target = transferred(source, k)
    before, after = weights(source), weights(target)
    special = f"{EMBEDDING}/special_embeddings"
    assert after.keys() - before.keys() == {special}
    last = NUM_LAYERS if k is None else k
    assert {part(name) for name in before} == set(range(NUM_LAYERS + 1))
    for name, value in before.items():
        if part(name) <= last:
            np.testing.assert_array_equal(after[name], value, err_msg=name)
        else:
            assert not np.any(after[name] == value), name


def test_what_is_not_transferred_is_new():
    """N(0, 0.02) matrices, zero biases, unit gains."""
    after = weights(transferred(source_network(hidden_dim=32), -1))
    for name, value in after.items():
        kind = name.rpartition("/")[2]
        if kind == "beta" or kind == "bias":
            assert not value.any(), name
        elif kind == "gamma":
            assert (value == 1.0).all(), name
        else:
            assert 0.01 < value.std() < 0.03, name


@pytest.mark.parametrize("k", [-1, 0, None])
def test_special_rows_are_drawn_from_the_global_seed(k):
    source = source_network(hidden_dim=64)

    def rows(seed):
        keras.utils.set_random_seed(seed)
        embedding = transferred(source, k).token_and_position_embedding
        return tiny_fine_tuned.as_array(embedding.special_embeddings.value)

    assert rows(1).shape == (3, 64)
    assert 0.015 < rows(1).std() < 0.025
    np.testing.assert_array_equal(rows(1), rows(1))
    assert not np.array_equal(rows(1), rows(2))


def test_special_rows_of_a_fine_tuned_source_are_kept():
    source = source_network(num_special_tokens=3)
    before, after = weights(source), weights(transferred(source, 0))
    name = f"{EMBEDDING}/special_embeddings"
    np.testing.assert_array_equal(after[name], before[name])


def test_same_hidden_states_with_other_dropout():
    source = source_network()
    rates = {
        "embedding_dropout": 0.1,
        "attention_dropout": 0.2,
        "residual_dropout": 0.3,
    }
    target = transferred(source, None, **rates)
    config = target.get_config()
    assert {name: config[name] for name in rates} == rates
    assert config["num_special_tokens"] == 3
    same = ("vocabulary_size", "num_layers", "hidden_dim", "layer_norm_epsilon")
    for name in same:
        assert config[name] == source.get_config()[name]
    inputs = small_models.inputs(small_models.token_ids(2, 6, below=23))
    expected = small_models.read(source(inputs))
    np.testing.assert_allclose(
        small_models.read(target(inputs)), expected, atol=1e-6
    )
    # In training the new dropout is in force.
    assert not np.allclose(
        small_models.read(target(inputs, training=True)), expected, atol=1e-3
    )
    assert small_models.draws(target) == [1] * len(small_models.draws(target))
    assert len(small_models.draws(target)) == 2 + 3 * NUM_LAYERS


def test_weights_are_copies():
    source = source_network()
    target = transferred(source, None)
    before = weights(source)
    for weight in target.trainable_weights:
        weight.assign(weight * 0.0 - 7.0)
    after = weights(source)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
    for name, value in weights(target).items():
        assert (value == -7.0).all(), name


def test_training_leaves_the_source_alone():
    """Also where a backend hands the memory of weights over to the step."""
    source = source_network()
    before = weights(source)
    target = transferred(source, None)
    target.compile(keras.optimizers.SGD(0.1), loss="mse", jit_compile=False)
    inputs = small_models.inputs(small_models.token_ids(4, 5, below=23))
    target.fit(inputs, np.zeros((4, 5, 8)), verbose=0)
    after = weights(source)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
    tables = (f"{EMBEDDING}/token_embeddings", weights(target))
    assert not np.array_equal(tables[1][tables[0]], before[tables[0]])


def test_target_has_the_global_dtype_policy():
    source = source_network()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        target = transferred(source, None)
    finally:
        keras.config.set_dtype_policy("float32")
    assert target.dtype_policy.name == "mixed_bfloat16"
    assert {w.dtype for w in target.trainable_weights} == {"float32"}
    before, after = weights(source), weights(target)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


@pytest.mark.parametrize("k", [-2, NUM_LAYERS + 1, 1.5, "all"])
def test_wrong_number_of_layers(k):
    source = source_network()
    expected = (
        rf"^NUM_TRANSFERRED_LAYERS is {k!r}: the preset has 3 layers; give -1 "
        r"\(nothing\), 0 \(embeddings\) to 3, or None for all$"
    )
    with pytest.raises(errors.InputError, match=expected):
        transferred(source, k)
