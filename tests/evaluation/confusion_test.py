import numpy as np
import pytest
from matplotlib import image

from gpt1_keras.evaluation import confusion
from gpt1_keras.evaluation import plots


def examples(matrix):
    """Return truth and predictions with this confusion matrix."""
    pairs = [
        pair
        for pair, count in np.ndenumerate(np.array(matrix))
        for _ in range(count)
    ]
    return tuple(zip(*pairs))


def test_cells_hold_counts_and_shares(figures, tmp_path):
    path = tmp_path / "plots" / "confusion.png"
    found = examples([[1200, 300, 0], [1, 2, 1], [0, 0, 0]])
    names = ("yes", "no", "perhaps")
    assert confusion.plot(*found, names, path, title="snli $5: 0.8") == path
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
    assert axes.get_title() == "snli $5: 0.8"


def luminance(pixels):
    return pixels[..., :3] @ [0.2126, 0.7152, 0.0722]


def test_shares_can_be_told_apart_in_grey(figures, tmp_path):
    shares = np.array([[95, 5], [40, 60]])
    path = confusion.plot(
        *examples(shares), ("a", "b"), tmp_path / "c.png", title="t"
    )
    axes = figures[0].axes[0]
    pixels = luminance(image.imread(path))
    height = pixels.shape[0]
    found = {}
    for row in range(2):
        for column in range(2):
            # Beside the number, in the upper left of the cell.
            x, y = axes.transData.transform((column - 0.4, row - 0.4))
            found[int(shares[row, column])] = pixels[height - int(y), int(x)]
    levels = [found[share] for share in (95, 60, 40, 5)]
    assert levels == sorted(levels)
    assert min(np.diff(levels)) > 0.1
    for text in axes.texts:
        column, row = text.get_position()
        white = float(text.get_color() == "white")
        lighter, darker = sorted(
            (white, found[int(shares[row, column])]), reverse=True
        )
        # Contrast of WCAG, from relative luminance.
        lighter, darker = lighter**2.2 + 0.05, darker**2.2 + 0.05
        assert lighter / darker > 4.5


def test_names_do_not_overlap(figures, tmp_path):
    words = [f"a rather long name of class {i}, ends so" for i in range(6)]
    confusion.plot(
        range(6), range(6), words, tmp_path / "c.png", title="t" * 200
    )
    (figure,) = figures
    (axes,) = figure.axes
    names = [t.get_text() for t in axes.get_xticklabels()]
    assert len(set(names)) == 6 and max(map(len, names)) <= 24
    edges = [t.get_window_extent().y0 for t in axes.get_yticklabels()]
    assert min(-np.diff(edges)) > 10
    assert figure.bbox.contains(*axes.title.get_window_extent().p0)
    assert figure.bbox.contains(*axes.title.get_window_extent().p1)


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
    truth, predicted = [0.0, 2.5, 5.0], [0.5, 2.0, 4.0]
    path = tmp_path / "plots" / "scores.png"
    assert confusion.scatter(truth, predicted, path, title="stsb") == path
    (axes,) = figures[0].axes
    (points,) = axes.collections
    assert points.get_offsets().tolist() == list(
        map(list, zip(truth, predicted))
    )
    (diagonal,) = axes.lines
    x, y = diagonal.get_data()
    assert np.array_equal(x, y)
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_xlim()[0] < 0 and axes.get_xlim()[1] > 5
    assert axes.get_xlabel() == "true score"
    assert axes.get_ylabel() == "predicted score"
    assert axes.get_title() == "stsb"


@pytest.mark.parametrize("count", [0, 1, 5])
def test_scatter_of_few_or_equal_scores(tmp_path, count):
    path = confusion.scatter(
        [1.0] * count, [1.0] * count, tmp_path / "s.png", title="t"
    )
    assert image.imread(path).shape == (600, 600, 4)
