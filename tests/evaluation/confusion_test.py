import numpy as np
from matplotlib import image

from gpt1_keras.evaluation import confusion
from gpt1_keras.evaluation import plots


def test_cells_hold_counts_and_shares(figures, tmp_path):
    path = tmp_path / "plots" / "confusion.png"
    pairs = [(0, 0)] * 1200 + [(0, 1)] * 300 + [(1, 0), (1, 1), (1, 1), (1, 2)]
    names = ("yes", "no", "perhaps")
    title = "snli $5: 0.8"
    assert confusion.plot(*zip(*pairs), names, path, title=title) == path
    (axes,) = figures[0].axes
    # Text at (column, row).
    cells = {t.get_position(): t.get_text() for t in axes.texts}
    assert cells == {
        **{(0, 0): "1,200\n80 %", (1, 0): "300\n20 %", (2, 0): "0\n0 %"},
        **{(0, 1): "1\n25 %", (1, 1): "2\n50 %", (2, 1): "1\n25 %"},
        **{(i, 2): "0\n0 %" for i in range(3)},
    }
    for axis in (axes.xaxis, axes.yaxis):
        assert [t.get_text() for t in axis.get_ticklabels()] == list(names)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    assert axes.get_title() == title
    # White numbers on dark cells.
    colors = {t.get_position(): t.get_color() for t in axes.texts}
    assert [colors[i, 0] for i in range(3)] == ["white", "black", "black"]


def test_names_do_not_overlap(figures, tmp_path):
    words = [f"a rather long name of class {i}, ends so" for i in range(6)]
    path = tmp_path / "c.png"
    confusion.plot(range(6), range(6), words, path, title="t" * 200)
    (figure,) = figures
    (axes,) = figure.axes
    names = [t.get_text() for t in axes.get_xticklabels()]
    assert len(set(names)) == 6 and max(map(len, names)) <= 24
    edges = [t.get_window_extent().y0 for t in axes.get_yticklabels()]
    assert min(-np.diff(edges)) > 10
    for corner in axes.title.get_window_extent().get_points():
        assert figure.bbox.contains(*corner)


def test_many_classes_have_no_numbers(monkeypatch, tmp_path):
    figures = []  # not drawn, which takes seconds
    monkeypatch.setattr(plots, "save", lambda *given: figures.append(given[0]))
    words = [f"intent_{i}" for i in range(150)]
    confusion.plot(range(150), range(150), words, tmp_path / "c.png", title="t")
    axes, bar = figures[0].axes
    assert not axes.texts
    assert len(axes.get_xticklabels()) == 75
    assert bar.get_ylabel() == "share of the true class"
    assert max(figures[0].get_size_inches()) < 27


def test_any_name_can_be_drawn(tmp_path):
    for name in ("$x_{$", "a$b$", "\\frac", "", "x\ny", "%s {}"):
        path = confusion.plot(
            (0, 1), (1, 1), (name, "b"), tmp_path / "c.png", title=name
        )
        assert image.imread(path).ndim == 3


def test_scatter(figures, tmp_path):
    points = [[0.0, 0.5], [2.5, 2.0], [5.0, 4.0]]
    path = tmp_path / "plots" / "scores.png"
    assert confusion.scatter(*zip(*points), path, title="stsb") == path
    (axes,) = figures[0].axes
    assert axes.collections[0].get_offsets().tolist() == points
    x, y = axes.lines[0].get_data()  # the diagonal
    assert np.array_equal(x, y)
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_xlim()[0] < 0 and axes.get_xlim()[1] > 5
    labels = axes.get_xlabel(), axes.get_ylabel(), axes.get_title()
    assert labels == ("true score", "predicted score", "stsb")
    for scores in ([], [1.0], [1.0] * 5):
        confusion.scatter(scores, scores, path, title="t")
        assert image.imread(path).shape == (600, 600, 4)
