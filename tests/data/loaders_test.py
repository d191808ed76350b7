import keras
import numpy as np
import pytest

from gpt1_keras.data import loaders
from tests.reference import counting_books


@pytest.mark.parametrize("loader", ["load", "BatchSequence"])
def test_yields_the_batches_of_the_steps(loader):
    load = getattr(loaders, loader)
    make = counting_books.training([50, 90], size=3, seed=5)
    loaded = load(make, first_step=17, num_steps=20)
    backend = keras.config.backend()
    is_plain = loader == "BatchSequence" or backend != "tensorflow"
    assert isinstance(loaded, loaders.BatchSequence) == is_plain
    if not is_plain:
        specs = loaded.element_spec.items()
        static = {name: (tuple(s.shape), s.dtype.name) for name, s in specs}
        assert static == make.spec
        # Its thread could keep a finished iterator from closing.
        assert loaded.options().autotune.enabled is False
        loaded = loaded.as_numpy_iterator()
    expected = [make(step) for step in range(17, 37)]
    np.testing.assert_equal(list(loaded), expected)
