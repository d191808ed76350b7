import matplotlib
import pytest
from matplotlib import image
from matplotlib import pyplot

from gpt1_keras.evaluation import curves


def grey(colour):
    """Luminance of a colour as a printer sees it, 0 black to 1 white."""
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_four_curves_are_told_apart_in_grey():
    looks = [curves.style_axes(i) for i in range(4)]
    assert len({look["marker"] for look in looks}) == 4
    shades = sorted(grey(look["color"]) for look in looks)
    gaps = [high - low for low, high in zip(shades, shades[1:])]
    assert min(gaps) > 0.12 and shades[-1] < 0.8


def test_many_curves_begin_anew():
    assert curves.style_axes(0)["color"] == curves.style_axes(6)["color"]
    assert curves.style_axes(0)["marker"] != curves.style_axes(6)["marker"]


@pytest.mark.parametrize("last, expected", [(800, "500"), (900000, "100k")])
def test_updates_are_short(last, expected):
    figure, axes = pyplot.subplots()
    axes.plot([1, last], [0, 1])
    curves.step_axis(axes)
    figure.canvas.draw()
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    pyplot.close(figure)
    assert axes.get_xscale() == "log"
    assert expected in labels


@pytest.mark.parametrize("last, expected", [(3, "3"), (77000, "50k")])
def test_epochs_stand_as_far_apart_as_they_are(last, expected):
    figure, axes = pyplot.subplots()
    axes.plot([0, last], [0, 1])
    curves.step_axis(axes, scale="linear")
    figure.canvas.draw()
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    pyplot.close(figure)
    assert axes.get_xscale() == "linear"
    assert expected in labels and len(labels) < 8


def test_save_closes_the_figure(tmp_path):
    figure, axes = pyplot.subplots()
    axes.plot([1, 2])
    path = curves.save_figure(figure, tmp_path / "a.png")
    assert image.imread(path).ndim == 3
    assert not pyplot.fignum_exists(figure.number)
