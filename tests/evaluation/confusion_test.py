import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import image
from matplotlib import pyplot
from sklearn import metrics

from gpt1_keras.evaluation import confusion


@pytest.fixture
def kept(monkeypatch):
    """Figures that would have been closed."""
    figures, close = [], pyplot.close
    monkeypatch.setattr(confusion.pyplot, "close", figures.append)
    yield figures
    for figure in figures:
        close(figure)


MATRIX = np.array([[1200, 300, 0], [1, 2, 1], [0, 0, 0]])
WORDS = ("yes", "no", "perhaps")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1),
)
def test_count_agrees_with_scikit_learn(pairs):
    truth, predicted = zip(*pairs)
    expected = metrics.confusion_matrix(truth, predicted, labels=range(4))
    found = confusion.count(truth, predicted, 4)
    np.testing.assert_array_equal(found, expected)


def test_count_of_nothing():
    assert confusion.count([], [], 2).tolist() == [[0, 0], [0, 0]]


def test_rows():
    assert confusion.rows(np.array([[3, 1], [0, 2]]), ("a", "b")) == [
        ["", "a", "b"],
        ["a", 3, 1],
        ["b", 0, 2],
    ]


def test_cells_hold_counts_and_shares(kept, tmp_path):
    path = tmp_path / "plots" / "confusion.png"
    assert confusion.plot(MATRIX, WORDS, path, title="snli $5: 0.8") == path
    (axes,) = kept[0].axes
    # Text at (column, row).
    cells = {t.get_position(): t.get_text() for t in axes.texts}
    assert cells == {
        **{(0, 0): "1,200\n80 %", (1, 0): "300\n20 %", (2, 0): "0\n0 %"},
        **{(0, 1): "1\n25 %", (1, 1): "2\n50 %", (2, 1): "1\n25 %"},
        **{(i, 2): "0\n0 %" for i in range(3)},
    }
    for axis in (axes.xaxis, axes.yaxis):
        assert [t.get_text() for t in axis.get_ticklabels()] == list(WORDS)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    assert axes.get_title() == "snli $5: 0.8"


def luminance(pixels):
    return pixels[..., :3] @ [0.2126, 0.7152, 0.0722]


def test_shares_can_be_told_apart_in_grey(kept, tmp_path):
    shares = np.array([[95, 5], [40, 60]])
    path = confusion.plot(shares, ("a", "b"), tmp_path / "c.png", title="t")
    axes = kept[0].axes[0]
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


def test_names_do_not_overlap(kept, tmp_path):
    words = [f"a rather long name of class {i}, ends so" for i in range(6)]
    confusion.plot(
        np.eye(6, dtype=int), words, tmp_path / "c.png", title="t" * 200
    )
    (figure,) = kept
    (axes,) = figure.axes
    names = [t.get_text() for t in axes.get_xticklabels()]
    assert len(set(names)) == 6 and max(map(len, names)) <= 24
    edges = [t.get_window_extent().y0 for t in axes.get_yticklabels()]
    assert min(-np.diff(edges)) > 10
    assert figure.bbox.contains(*axes.title.get_window_extent().p0)
    assert figure.bbox.contains(*axes.title.get_window_extent().p1)


def test_many_classes_have_no_numbers(kept, tmp_path):
    words = [f"intent_{i}" for i in range(150)]
    confusion.plot(np.eye(150, dtype=int), words, tmp_path / "c.png", title="t")
    axes, bar = kept[0].axes
    assert not axes.texts
    assert len(axes.get_xticklabels()) == 75
    assert bar.get_ylabel() == "share of the true class"
    assert max(kept[0].get_size_inches()) < 27


@pytest.mark.parametrize(
    "word", ["$x_{$", "a$b$", "\\frac", "", "x\ny", "%s {}"]
)
def test_any_word_can_be_drawn(tmp_path, word):
    path = confusion.plot(
        np.eye(2, dtype=int), (word, "b"), tmp_path / "c.png", title=word
    )
    assert image.imread(path).ndim == 3
    assert not pyplot.get_fignums()


def test_scatter(kept, tmp_path):
    truth, predicted = [0.0, 2.5, 5.0], [0.5, 2.0, 4.0]
    path = tmp_path / "plots" / "scores.png"
    assert confusion.scatter(truth, predicted, path, title="stsb") == path
    (axes,) = kept[0].axes
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
