import keras
import numpy as np
import pytest

from gpt1_keras.data import batches
from gpt1_keras.data import loaders
from tests.reference import counting_books


def as_list(loaded):
    if not isinstance(loaded, loaders.BatchSequence):
        loaded = loaded.as_numpy_iterator()
    return list(loaded)


@pytest.mark.parametrize("loader", ["load", "BatchSequence", "dataset"])
def test_yields_the_batches_of_the_steps(loader):
    if loader == "dataset":
        pytest.importorskip("tensorflow")
    load = getattr(loaders, loader)
    make = counting_books.training([50, 90], size=3, seed=5)
    loaded = load(make, first_step=17, num_steps=20)
    is_plain = loader == "BatchSequence"
    if loader == "load":
        is_plain = keras.config.backend() != "tensorflow"
    assert isinstance(loaded, loaders.BatchSequence) == is_plain
    if not is_plain:
        specs = loaded.element_spec.items()
        static = {name: (tuple(s.shape), s.dtype.name) for name, s in specs}
        assert static == make.spec
        # Its thread could keep a finished iterator from closing.
        assert loaded.options().autotune.enabled is False
    found = as_list(loaded)
    np.testing.assert_equal(found, [make(step) for step in range(17, 37)])
    books = counting_books.CountingBooks([20, 7])
    scored = batches.HeldOutBatches(
        books, batch_size=4, sequence_length=8, stride=4
    )
    found = as_list(load(scored, first_step=0, num_steps=len(scored)))
    assert sum(batch["token_weights"].sum() for batch in found) == 25
