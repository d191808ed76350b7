import gin
import keras
import numpy as np
import pytest

from gpt1_keras import config as config_lib
from gpt1_keras import errors


@pytest.fixture(autouse=True)
def as_before(set_dtype):
    yield
    gin.clear_config()


def builder(files, settings=()):
    """The function that builds the network of gin files."""
    config_lib.resolve(files, settings)
    name = "pretrain.pretrain.build_backbone"
    return gin.query_parameter(name).scoped_configurable_fn


def shapes(network):
    """Shapes of the weights of the network of a gin file, none allocated."""
    build = builder(["gin/pretrain.gin", f"gin/model/{network}.gin"])
    # In this scope a variable knows its shape and waits for its value.
    with keras.StatelessScope(initialize_variables=False):
        model = build(vocabulary_size=gin.query_parameter("%VOCABULARY_SIZE"))
    found = [tuple(weight.shape) for weight in model.trainable_weights]
    # Else the next such scope would give all of them values.
    keras.utils.clear_session()
    return found


def count(found):
    return sum(int(np.prod(shape)) for shape in found)


def test_parameters_of_the_paper_and_of_small_networks():
    assert count(shapes("mini")) == 6_917_632
    assert count(shapes("tiny")) == 236_160
    found = shapes("gpt1")
    assert count(found) == 116_534_784
    # Positions, words, twelve blocks; matrices alone take weight decay.
    assert {(40478, 768), (512, 768)} <= set(found)
    assert len(found) == 2 + 12 * 12
    assert count(s for s in found if len(s) == 1) == 119_808


def test_a_network_beyond_the_memory_is_refused_at_once():
    build = builder(["gin/pretrain.gin"], ["NUM_LAYERS = 10000000"])
    with pytest.raises(errors.InputError, match="GiB"):
        build(vocabulary_size=100)
