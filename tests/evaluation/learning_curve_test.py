import json

import numpy as np
import pytest
from matplotlib import image
from matplotlib import pyplot

from gpt1_keras.evaluation import curves as curves_lib


@pytest.fixture
def metrics(tmp_path):
    """Write lines of a metrics.jsonl, return its path."""

    def write(lines):
        path = tmp_path / "metrics.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


@pytest.fixture
def kept(monkeypatch):
    """Figures that `plot` would have closed."""
    figures, close = [], pyplot.close
    monkeypatch.setattr(curves_lib.pyplot, "close", figures.append)
    yield figures
    for figure in figures:
        close(figure)


LINES = [
    {"step": 1, "loss": 8.0, "perplexity": 3000.0},
    {"step": 10, "loss": 6.0, "perplexity": 400.0},
    {"step": 10, "split": "held_out", "perplexity": 450.5, "loss": 6.1},
    {"step": 100, "loss": 4.0, "perplexity": 55.0},
    {"step": 100, "split": "held_out", "perplexity": 60.25, "loss": 4.1},
    {"step": 100, "sample": "the president is a very good man ."},
]


def test_draws_both_curves(metrics, kept, tmp_path):
    path = tmp_path / "plots" / "learning_curve.png"
    assert curves_lib.plot_learning_curve(metrics(LINES), path) == path
    (axes,) = kept[0].axes
    curves = {
        line.get_label(): line.get_xydata().tolist() for line in axes.lines
    }
    assert curves == {
        "training batches": [[1, 3000], [10, 400], [100, 55]],
        "held-out books": [[10, 450.5], [100, 60.25]],
    }
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "updates" and "perplexity" in axes.get_ylabel()
    assert [text.get_text() for text in axes.texts] == ["60.2"]


def test_leaves_out_what_is_not_finite(metrics, kept, tmp_path):
    endless = [
        {"step": 1, "perplexity": float("inf")},
        {"step": 200, "split": "held_out", "perplexity": float("inf")},
    ]
    curves_lib.plot_learning_curve(
        metrics(endless + LINES), tmp_path / "curve.png"
    )
    (axes,) = kept[0].axes
    assert [line.get_xdata().tolist() for line in axes.lines] == [
        [1, 10, 100],
        [10, 100],
    ]


def test_picture_can_be_read(metrics, tmp_path):
    path = curves_lib.plot_learning_curve(
        metrics(LINES), tmp_path / "curve.png"
    )
    pixels = image.imread(path)
    assert pixels.shape == (540, 840, 4)
    # Black and grey on white: the curves are there.
    assert pixels.min() == 0 and 0.001 < np.mean(pixels[..., 0] < 0.7) < 0.2
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_run_that_has_just_begun(metrics, tmp_path, count):
    path = curves_lib.plot_learning_curve(
        metrics(LINES[:count]), tmp_path / "curve.png"
    )
    assert image.imread(path).shape == (540, 840, 4)
