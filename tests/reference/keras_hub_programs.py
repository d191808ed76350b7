"""KerasHub's own test programs; they check the same on every backend."""

import keras
import pytest

IGNORE_WARNINGS = pytest.mark.filterwarnings(
    "ignore:.*was not called as part of model loading",
    "ignore:.*shuffle=True. was passed",
)


def programs():
    """Return a `keras_hub.src.tests.test_case.TestCase`."""
    if keras.config.backend() != "tensorflow":
        pytest.skip("KerasHub's programs run on TensorFlow only")
    from keras_hub.src.tests import test_case

    return test_case.TestCase()
