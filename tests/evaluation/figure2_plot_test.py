"""The pictures are looked at through what matplotlib was told to draw."""

import pytest
from matplotlib import image

from gpt1_keras.evaluation import curves as curves_lib
from gpt1_keras.evaluation import figure2


@pytest.fixture(name="drawn")
def _drawn(monkeypatch):
    """Axes of every figure saved."""
    kept = []
    save = curves_lib.save_figure

    def keep(figure, path):
        kept.extend(figure.axes)
        return save(figure, path)

    monkeypatch.setattr(curves_lib, "save_figure", keep)
    return kept


def probe_row(backbone, probe, updates, relative, workdir=None):
    return {
        "workdir": workdir or backbone,
        "backbone": backbone,
        "probe": probe,
        "updates": updates,
        "relative": relative,
    }


def curves(shown):
    return {
        (line.get_linestyle(), line.get_marker()): list(
            zip(line.get_xdata(), line.get_ydata())
        )
        for line in shown.lines
        if line.get_marker() != "None"
    }


def test_right(tmp_path, drawn):
    rows = [
        probe_row(backbone, probe, updates, level * updates / 4000)
        for backbone, level in (("transformer", 1.0), ("lstm", 0.5))
        for probe in ("sst2", "cola", "race", "dprd")
        for updates in (4000, 1000)
    ]
    path = figure2.draw_right(rows, tmp_path / "right.png")
    (shown,) = drawn
    assert shown.get_xscale() == "log"
    found = curves(shown)
    assert len(found) == 8
    assert found["-", "o"] == [(1000, 0.25), (4000, 1.0)]
    assert found["--", "o"] == [(1000, 0.125), (4000, 0.5)]
    labels = [text.get_text() for text in shown.get_legend().get_texts()]
    assert labels == [
        *("SST-2", "CoLA", "RACE", "DPRD"),
        *("Transformer", "LSTM"),
    ]
    assert image.imread(path).shape[1] > 600


def test_right_shows_the_longest_run_of_a_backbone(tmp_path, drawn):
    rows = [
        probe_row("transformer", "sst2", 10, 0.1, "short"),
        probe_row("transformer", "sst2", 20, 0.2, "long"),
        probe_row("transformer", "sst2", 20, 0.3, "late"),
        probe_row("lstm", "sst2", 5, 0.4, "other"),
    ]
    assert figure2.drawn_runs(rows) == {"long", "other"}
    figure2.draw_right(rows, tmp_path / "right.png")
    assert curves(drawn[0]) == {
        ("-", "o"): [(20, 0.2)],
        ("--", "o"): [(5, 0.4)],
    }


def layer_row(task, split, layers, accuracy, spread=0.0):
    return {
        "task": task,
        "split": split,
        "num_transferred_layers": layers,
        "accuracy": accuracy,
        "lowest": accuracy - spread,
        "highest": accuracy + spread,
    }


def test_left(tmp_path, drawn):
    rows = [
        layer_row(task, split, layers, 0.4 + 0.1 * layers, 0.05)
        for task in ("race", "mnli")
        for split in ("dev", "train")
        for layers in (-1, 0, 1)
    ]
    figure2.draw_left(rows, tmp_path / "left.png")
    (shown,) = drawn
    assert [tick.get_text() for tick in shown.get_xticklabels()] == [
        *("none", "0", "1"),
    ]
    found = curves(shown)
    assert {style for style, _ in found} >= {"-", "--"}
    points = found["-", "o"]
    assert [x for x, _ in points] == [-1, 0, 1]
    assert [y for _, y in points] == pytest.approx([30, 40, 50])
    labels = [text.get_text() for text in shown.get_legend().get_texts()]
    assert labels == ["RACE, dev", "RACE, train", "MNLI, dev", "MNLI, train"]


def test_left_without_training_accuracy(tmp_path, drawn):
    rows = [layer_row("race", "dev", layers, 0.5) for layers in (0, 1, 2)]
    path = figure2.draw_left(rows, tmp_path / "left.png")
    assert list(curves(drawn[0])) == [("-", "o")]
    assert path.exists()
