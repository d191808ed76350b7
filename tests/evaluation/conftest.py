"""Figures are examined through what matplotlib was told to draw."""

import pytest
from matplotlib import figure


@pytest.fixture
def figures(monkeypatch):
    """Every figure saved while the test runs."""
    saved = []
    save = figure.Figure.savefig

    def keep(self, *args, **kwargs):
        saved.append(self)
        return save(self, *args, **kwargs)

    monkeypatch.setattr(figure.Figure, "savefig", keep)
    return saved
