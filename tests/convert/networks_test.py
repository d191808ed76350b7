import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.convert import networks
from tests.reference import golden
from tests.reference import small_models


def test_variables_are_all_weights_in_the_released_order():
    network = small_models.network(num_special_tokens=0)
    found = networks.variables(network)
    blocks = [f"h{i}/{name}" for i in range(2) for name in golden.BLOCK_NAMES]
    assert list(found) == ["positions", "tokens", *blocks]
    arrays = small_models.released_arrays(network)
    for name in blocks:
        value = small_models.read(found[name])
        np.testing.assert_array_equal(value, arrays[name])
    ours = {id(variable) for variable in found.values()}
    assert ours == {id(variable) for variable in network.weights}


def test_released_network_has_the_released_size():
    network = networks.build(
        vocabulary_size=30,
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        max_sequence_length=12,
    )
    # By hand: tables, then attention, feed-forward and norms of two blocks.
    block = 8 * 24 + 24 + 8 * 8 + 8 + 8 * 32 + 32 + 32 * 8 + 8 + 4 * 8
    assert network.count_params() == (30 + 12) * 8 + 2 * block
    assert network.layer_norm_epsilon == 1e-5
    assert network.embedding_dropout_on == "tables"


@pytest.mark.parametrize(
    "value, expected",
    [
        (
            np.ones((3, 8), "float32"),
            r"^here has shape \[3, 8\], expected \[12, 8\]",
        ),
        (np.full((12, 8), np.nan, "float32"), "^here has NaN or infinite"),
        (np.full((12, 8), -np.inf, "float32"), "^here has NaN or infinite"),
    ],
)
def test_assign_refuses(value, expected):
    network = small_models.network()
    variable = networks.variables(network)["positions"]
    before = small_models.read(variable)
    with pytest.raises(errors.InputError, match=expected):
        networks.assign(variable, value, "here")
    np.testing.assert_array_equal(small_models.read(variable), before)


def test_vocabulary_and_heads_must_fit():
    tokenizer = small_models.byte_pairs()
    networks.check_vocabulary(tokenizer, 60, "v.json")
    with pytest.raises(
        errors.InputError, match="^v.json has 60 tokens, .* 61 rows"
    ):
        networks.check_vocabulary(tokenizer, 61, "v.json")
    networks.check_heads(4, 8, "x")
    with pytest.raises(
        errors.InputError, match="8 cannot be divided into 3 .*: x"
    ):
        networks.check_heads(3, 8, "x")
