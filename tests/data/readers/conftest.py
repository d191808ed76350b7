import pytest
from absl import logging


@pytest.fixture
def logged(monkeypatch):
    """A list of what is logged as information or warning."""
    lines = []

    def log(text, *values):
        lines.append(text % values if values else text)

    for level in ("info", "warning"):
        monkeypatch.setattr(logging, level, log)
    return lines
