"""What every test sees: the folder of real data, and markers that skip."""

import os
import pathlib

import hypothesis
import pytest

# How long an example takes says nothing on a busy machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("GPT1_SHARED", ROOT.parent / "shared"))


@pytest.fixture
def shared_file():
    """Return a function: relative name -> path, or skip naming what lacks."""

    def find(name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"{path} is missing")
        return path

    return find
