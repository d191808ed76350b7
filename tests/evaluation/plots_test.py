import matplotlib

from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import plots
from tests.reference import data_files
from tests.reference import fake_workdirs


def test_curves_run_through_means_in_bands(monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "save", lambda f, *_, **__: figures.append(f))
    points = [
        *(plots.Point("a", "dev", x, y) for x, y in ((2, 7), (1, 2), (1, 4))),
        *(plots.Point("$b{$", "train", 1, y) for y in (0, 1, 5)),
        plots.Point("$b{$", "train", 1, 3, panel="other"),
    ]
    plots.draw_curves(points, "x.png", y_label="y", format_axes=lambda _: None)
    ((first, second), (legend,)) = figures[0].axes, figures[0].legends
    a, b = first.lines
    assert a.get_xydata().tolist() == [[1, 3], [2, 7]]
    assert b.get_xydata().tolist() == [[1, 2]]
    bands = [band.get_paths()[0].vertices[:, 1] for band in first.collections]
    assert [(min(y), max(y)) for y in bands] == [(2, 7), (0, 5)]
    # A name has one colour in all panels, a kind one style.
    (again,) = second.lines
    assert a.get_color() != b.get_color() == again.get_color()
    assert (a.get_linestyle(), b.get_linestyle()) == ("-", "--")
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["a", "$b{$", "dev", "train"]
    figures[0].draw_without_rendering()
    assert second.get_title() == "other" and not second.collections
    assert matplotlib.rcParams["text.parse_math"]  # for the user's own plots
    # A single kind of line needs no name of its own.
    points = [plots.Point("a", kind, 1, 2) for kind in ("lstm", "batches")]
    plots.draw_curves(points, "x.png", y_label="y", format_axes=lambda _: None)
    names = [text.get_text() for text in figures[1].legends[0].get_texts()]
    assert names == ["a", "training batches"]


def test_points_of_the_figures(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(
        plots, "draw_curves", lambda p, *_, **__: drawn.append(p)
    )
    scores = [{"accuracy": 0.25}, {"accuracy": 0.75}]
    for layers in (-1, 0, None):
        folder = tmp_path / f"transferred {layers}"
        options = {"NUM_TRANSFERRED_LAYERS": layers}
        fake_workdirs.finetune(folder, "rte", scores, **options)
    # Fewer seeds; other settings than the full model's; another size.
    options = {"WEIGHT_DECAY": 0.5}
    fake_workdirs.finetune(tmp_path / "one", "rte", scores[0], **options)
    options["NUM_TRANSFERRED_LAYERS"] = 0
    fake_workdirs.finetune(tmp_path / "other", "rte", scores[:1] * 3, **options)
    fake_workdirs.finetune(tmp_path / "small", "rte", scores, num_layers=2)
    lines = fake_workdirs.evaluations("matthews", (0.5, 0.75), step=7)
    for name, metrics, options in (
        ("older", {"matthews": 0.5}, {"WEIGHT_DECAY": 0.5}),
        ("lstm", {"matthews": 0.5}, {"lstm": True}),
        ("full", {"matthews": 0.5}, {}),
        # These workdirs stand in the CSV only: all rows are preferred to some,
        # official files to samples, and new results to old ones.
        ("few", {"matthews": 0.5}, {"NUM_TRAIN_EXAMPLES": 9}),
        ("sample", {"matthews": 0.5}, {"DATA_DIR": None}),
    ):
        fake_workdirs.finetune(tmp_path / name, "cola", metrics, **options)
        data_files.write(tmp_path / name, "metrics.jsonl", lines)
    results = fake_workdirs.results(tmp_path)
    plots.transferred_layers(results, tmp_path)
    chosen = paper_tables.choose_ablations(results)
    picture = plots.fine_tuning(results, chosen, tmp_path)
    assert drawn[0] == [
        plots.Point("RTE, accuracy", "dev", layers, score)
        for layers in (-1, 0, 12)
        for score in (25, 75)
    ]
    row = (tmp_path / "figure2_left.csv").read_text().split("\n")[1]
    assert row.startswith("rte,dev,-1,accuracy,0.5,0.25,0.75,2,")
    assert drawn[1] == [
        plots.Point(name, kind, 7, score, panel="CoLA, Matthews")
        for name in ("Transformer, auxiliary LM (full)", "LSTM, auxiliary LM")
        for kind, score in (("dev", 50), ("train_sample", 75))
    ]
    others = ", ".join(str(tmp_path / x) for x in ("few", "older", "sample"))
    assert picture.notes[1] == f"Only in the CSV: {others}."
