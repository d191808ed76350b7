"""What every test sees: the folder of real data, and markers that skip."""

import json
import os
import pathlib

import hypothesis
import pytest

from tests.reference.processes import ROOT

# How long an example takes says nothing on a busy machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

SHARED = pathlib.Path(os.environ.get("GPT1_SHARED", ROOT.parent / "shared"))


def pytest_runtest_setup(item):
    """Skip a test marked `only_on("tensorflow")` on other backends."""
    if mark := item.get_closest_marker("only_on"):
        import keras

        if keras.config.backend() not in mark.args:
            pytest.skip(f"for {' or '.join(mark.args)}")


@pytest.fixture
def shared_file():
    """Return a function: relative name -> path, or skip naming what lacks."""

    def find(name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"{path} is missing")
        return path

    return find


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of generated and prepared data, not there yet."""
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def set_dtype():
    """Return a function that sets the policy of Keras until the test ends."""
    import keras

    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy("float32")


@pytest.fixture
def released_files(shared_file):
    folder = shared_file("data/gpt1_vocab")
    return folder / "encoder_bpe_40000.json", folder / "vocab_40000.bpe"


@pytest.fixture
def golden_cases(shared_file):
    """Dicts of a `text` and the `ids` of the released pipeline."""
    path = shared_file("golden/tokenizer_openai_a.json")
    return json.loads(path.read_text("utf-8"))
