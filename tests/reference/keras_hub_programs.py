"""KerasHub's own test programs, for our layers and models.

They run on TensorFlow only: what they check (configs, files, dtypes) is the
same on every backend. Of grain, which they import too, only
`run_grain_preprocessing_test` makes use: without it, that one is left out.
"""

import importlib.util
import sys
import types

import keras
import pytest


def programs():
    """Return a `keras_hub.src.tests.test_case.TestCase`."""
    if keras.config.backend() != "tensorflow":
        pytest.skip("KerasHub's programs run on TensorFlow only")
    has_grain = importlib.util.find_spec("grain") is not None
    if not has_grain:
        sys.modules["grain"] = types.ModuleType("grain")
    try:
        from keras_hub.src.tests import test_case
    finally:
        if not has_grain:
            del sys.modules["grain"]
    case = test_case.TestCase()
    if not has_grain:
        case.run_grain_preprocessing_test = lambda *arguments: None
    return case
