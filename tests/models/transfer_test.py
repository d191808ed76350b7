import re

import keras
import numpy as np
import pytest

from gpt1_keras.models import builders
from tests.reference import small_models

NUM_LAYERS = 3
EMBEDDING = "token_and_position_embedding"
SPECIAL = f"{EMBEDDING}/special_embeddings"


def source_network(**changes):
    """A network none of whose weights has the value of a new one."""
    changes = {"num_layers": NUM_LAYERS, "num_special_tokens": 0} | changes
    return small_models.network(**changes)


def transferred(source, k, **rates):
    return builders.transferred_backbone(
        source, num_transferred_layers=k, num_special_tokens=3, **rates
    )


def weights(network):
    """`{layer and name: array}`, without the name of the model."""
    found = {}
    for weight in network.trainable_weights:
        path = re.search(rf"({EMBEDDING}|decoder_block_\d+)/.*", weight.path)
        found[path[0]] = small_models.read(weight).astype("float32")
    return found


def part(name):
    """0 for the tables of tokens and positions, 1 .. L for a block."""
    found = re.match(r"decoder_block_(\d+)/", name)
    return 1 + int(found[1]) if found else 0


@pytest.mark.parametrize("k", [-1, 0, 1, NUM_LAYERS, None])
def test_first_blocks_and_only_those_come_from_the_source(k):
    source = source_network()
    before, after = weights(source), weights(transferred(source, k))
    assert after.keys() - before.keys() == {SPECIAL}
    last = NUM_LAYERS if k is None else k
    assert {part(name) for name in before} == set(range(NUM_LAYERS + 1))
    for name, value in before.items():
        if part(name) <= last:
            np.testing.assert_array_equal(after[name], value, err_msg=name)
        else:
            assert not np.any(after[name] == value), name


def test_what_is_not_transferred_is_new():
    """N(0, 0.02) matrices, zero biases, unit gains, from the global seed."""
    source = source_network(hidden_dim=32, num_layers=1)
    keras.utils.set_random_seed(1)
    after = weights(transferred(source, -1))
    for name, value in after.items():
        kind = name.rpartition("/")[2]
        if kind in ("beta", "bias"):
            assert not value.any(), name
        elif kind == "gamma":
            assert (value == 1.0).all(), name
        else:
            assert 0.01 < value.std() < 0.03, name
    assert after[SPECIAL].shape == (3, 32)
    keras.utils.set_random_seed(1)
    np.testing.assert_equal(weights(transferred(source, -1)), after)
    assert np.any(weights(transferred(source, -1))[SPECIAL] != after[SPECIAL])
    # But special rows of a fine-tuned source are kept.
    source = source_network(num_special_tokens=3)
    after = weights(transferred(source, 0))
    np.testing.assert_array_equal(after[SPECIAL], weights(source)[SPECIAL])


def test_same_hidden_states_with_other_dropout():
    source = source_network()
    rates = {"embedding_dropout": 0.1, "attention_dropout": 0.2}
    rates |= {"residual_dropout": 0.3}
    target = transferred(source, None, **rates)
    config = source.get_config() | rates | {"num_special_tokens": 3}
    assert target.get_config() == config | {"name": target.name}
    inputs = small_models.inputs(small_models.token_ids(2, 6, below=23))
    expected = small_models.read(source(inputs))
    small_models.assert_close(target(inputs), expected, atol=1e-6)
    target(inputs, training=True)  # where the new dropout is in force
    assert small_models.draws(target) == [1] * (2 + 3 * NUM_LAYERS)


def test_training_leaves_the_source_alone():
    """Also where a backend donates the memory of weights to the step."""
    source = source_network()
    before = weights(source)
    target = transferred(source, None)
    # Compiled, for the backend to donate.
    is_jax = keras.config.backend() == "jax"
    target.compile(keras.optimizers.SGD(0.1), loss="mse", jit_compile=is_jax)
    inputs = small_models.inputs(small_models.token_ids(4, 5, below=23))
    target.fit(inputs, np.zeros((4, 5, 8)), verbose=0)
    np.testing.assert_equal(weights(source), before)
    table = f"{EMBEDDING}/token_embeddings"
    assert np.any(weights(target)[table] != before[table])
