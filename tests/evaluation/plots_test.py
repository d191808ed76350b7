from gpt1_keras.evaluation import figure2
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import report


def test_curves_run_through_means_in_bands(monkeypatch):
    figures = []

    def save(figure, path, **options):
        figures.append(figure)
        return path

    monkeypatch.setattr(plots, "save", save)
    points = [
        *(plots.Point("a", "dev", x, y) for x, y in ((2, 7), (1, 2), (1, 4))),
        plots.Point("b", "train", 1, 1, lowest=0, highest=5),
        plots.Point("b", "train", 1, 3, panel="other"),
    ]
    path = plots.draw_curves(
        points, "x.png", y_label="y", format_axes=plots.format_linear_steps
    )
    assert path == "x.png"
    ((first, second), (legend,)) = figures[0].axes, figures[0].legends
    a, b = first.lines
    assert a.get_xydata().tolist() == [[1, 3], [2, 7]]
    assert b.get_xydata().tolist() == [[1, 1]]
    bands = [band.get_paths()[0].vertices[:, 1] for band in first.collections]
    assert [(min(y), max(y)) for y in bands] == [(2, 7), (0, 5)]
    assert {(1, 2), (1, 4)} <= {
        tuple(xy) for xy in first.collections[0].get_paths()[0].vertices
    }
    # A name has one colour in all panels, a kind one style.
    (again,) = second.lines
    assert a.get_color() != b.get_color() == again.get_color()
    assert (a.get_linestyle(), b.get_linestyle()) == ("-", "--")
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["a", "b", "dev", "train"]
    assert second.get_title() == "other" and not second.collections


def test_points_of_the_figures(monkeypatch):
    monkeypatch.setattr(plots, "draw_curves", lambda points, *_, **__: points)
    layers = {"task": "rte", "split": "dev", "num_transferred_layers": -1}
    shares = {"accuracy": 0.5, "lowest": 0.25, "highest": 0.75}
    points = figure2.draw_left([layers | shares], "x.png")
    assert points == [plots.Point("RTE", "dev", -1, 50, 25, 75)]
    row = {"task": "cola", "split": "train_sample", "metric": "matthews"}
    row |= {"ablation": "lstm", "workdir": "a", "step": 7, "score": 0.5}
    others = [row | {"workdir": "b"}, row | {"ablation": "full"}]
    points = report._draw_fine_tuning([*others, row], {"a"}, "x.png")
    options = {"kind": "sample of train", "x": 7, "y": 50}
    options["panel"] = "CoLA, Matthews"
    assert points == [
        plots.Point("Transformer, auxiliary LM (full)", **options),
        plots.Point("LSTM, auxiliary LM", **options),
    ]
