import pytest
from matplotlib import image

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import curves
from tests.reference import fake_workdirs

LINES = [
    {"step": 10, "perplexity": 100.0},
    {"step": 10, "split": "held_out", "perplexity": float("inf")},
    {"step": 20, "perplexity": 50.0},
    {"step": 20, "split": "held_out", "perplexity": 60.0},
    {"step": 20, "split": "probes", "sst2_accuracy": 0.5},
    {"step": 20, "sample": "It was"},
    {"step": 40, "split": "held_out", "perplexity": 55.0},
]


def test_held_out_and_training_of_each_run(tmp_path, monkeypatch):
    kept = []
    save = curves.save_figure
    monkeypatch.setattr(
        curves,
        "save_figure",
        lambda f, path: kept.extend(f.axes) or save(f, path),
    )
    fake_workdirs.pretrain(tmp_path / "a", LINES)
    fake_workdirs.pretrain(tmp_path / "b", LINES[:4], lstm=True)
    path = curves.plot_perplexities(
        comparison.find_runs([tmp_path]), tmp_path / "curves.png"
    )
    (shown,) = kept
    points = [
        list(zip(line.get_xdata(), line.get_ydata())) for line in shown.lines
    ]
    assert points == [
        [(10, 100), (20, 50)],
        [(20, 60), (40, 55)],
        [(10, 100), (20, 50)],
        [(20, 60)],
    ]
    styles = [line.get_linestyle() for line in shown.lines]
    assert styles == ["-", "-", "-", "--"]
    labels = [text.get_text() for text in shown.get_legend().get_texts()]
    assert labels == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert image.imread(path).shape[1] > 600


@pytest.mark.parametrize("lines", [[], [{"step": 1, "sample": "x"}]])
def test_nothing_to_draw(tmp_path, lines):
    fake_workdirs.pretrain(tmp_path / "a", lines)
    path = tmp_path / "curves.png"
    assert (
        curves.plot_perplexities(comparison.find_runs([tmp_path]), path) is None
    )
    assert not path.exists()
