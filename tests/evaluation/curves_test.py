import matplotlib
import numpy as np
import pytest
from matplotlib import figure as figure_lib
from matplotlib import image

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import curves
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import plots
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


def test_curves_are_told_apart_in_grey():
    styles = [plots.curve_style(i) for i in range(7)]
    assert len({style["marker"] for style in styles}) == 7
    colors = [matplotlib.colors.to_rgb(s["color"]) for s in styles[:4]]
    shades = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in colors]
    assert min(np.diff(shades)) > 0.12 and shades[-1] < 0.8


@pytest.mark.parametrize(
    "scale, last, expected",
    [
        *(("log", 800, "500"), ("log", 900000, "100k")),
        *(("linear", 3, "3"), ("linear", 77000, "50k")),
    ],
)
def test_steps_are_short(scale, last, expected):
    figure = figure_lib.Figure()
    axes = figure.subplots()
    axes.plot([scale == "log", last], [0, 1])
    plots.step_axis(axes, scale)
    figure.canvas.draw()
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert (axes.get_xscale(), axes.get_xlabel()) == (scale, "steps")
    assert expected in labels and (scale == "log" or len(labels) < 8)


def test_perplexities_of_held_out_books_and_batches(tmp_path, figures):
    path = tmp_path / "plots" / "curves.png"
    found = [("out/a", "-", LINES), ("out/b", "--", LINES[:4])]
    assert curves.plot_perplexities(found, path) == path
    (axes,) = figures[0].axes
    lines = [(x.get_linestyle(), list(zip(*x.get_data()))) for x in axes.lines]
    assert lines == [
        ("-", [(10, 100), (20, 50)]),
        ("-", [(20, 60), (40, 55)]),
        ("-", [(10, 100), (20, 50)]),
        ("--", [(20, 60)]),
    ]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "perplexity per token"
    legend = axes.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["out/a", "out/b"]
    assert image.imread(path).shape[1] > 600
    for lines in ([], [{"step": 1, "sample": "x"}]):
        path = tmp_path / "none.png"
        assert curves.plot_perplexities([("a", "-", lines)], path) is None
        assert not path.exists()


def results(folder):
    return comparison.join_seeds(comparison.find([folder])[0])


def fine_tune(folder, task, *seeds, metric="accuracy", **options):
    """Write a run with the (dev, train) pairs of each of its seeds."""
    metrics = [{metric: pairs[-1][0]} for pairs in seeds]
    fake_workdirs.finetune(folder, task, metrics, **options)
    for seed, pairs in enumerate(seeds, 1):
        lines = fake_workdirs.evaluations(metric, *pairs)
        fake_workdirs.write_lines(folder / f"seed_{seed}", lines)


def test_rows_of_several_seeds(tmp_path):
    fine_tune(tmp_path / "a", "rte", [(0.5, 0.6)], [(0.7, 0.8), (0.9, 1.0)])
    rows = curves.fine_tuning_rows(results(tmp_path))
    common = {"task": "rte", "ablation": "full", "metric": "accuracy"}
    common["workdir"] = str(tmp_path / "a")
    assert all(row.items() >= common.items() for row in rows)
    names = ("seed", "split", "step", "score")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("1", "dev", 100, 0.5),
        ("1", "train_sample", 100, 0.6),
        ("2", "dev", 100, 0.7),
        ("2", "train_sample", 100, 0.8),
        ("2", "dev", 200, 0.9),
        ("2", "train_sample", 200, 1.0),
    ]


def test_rows_of_runs_that_were_joined(tmp_path):
    for name, seed, score in (("a", 1, 0.1), ("b", 2, 0.2), ("c", 2, 0.3)):
        folder = fake_workdirs.finetune(
            tmp_path / name, "rte", {"accuracy": score}, seed=seed
        )
        lines = fake_workdirs.evaluations("accuracy", (score, score))
        fake_workdirs.write_lines(folder, lines)
    rows = curves.fine_tuning_rows(results(tmp_path))
    # Of seed 2 the first run counts.
    assert [
        (row["seed"], row["score"], row["workdir"])
        for row in rows
        if row["split"] == "dev"
    ] == [("1", 0.1, str(tmp_path / "a")), ("2", 0.2, str(tmp_path / "b"))]
    ablations = paper_tables.choose_ablations(results(tmp_path))
    assert curves.drawn_rows(rows, ablations) == rows


def test_drawn_are_the_results_of_table_5(tmp_path):
    fine_tune(tmp_path / "full", "rte", [(0.5, 0.6)])
    fine_tune(tmp_path / "part", "rte", [(0.1, 0.1)], NUM_TRAIN_EXAMPLES=8)
    fine_tune(tmp_path / "some", "rte", [(0.2, 0.2)], NUM_TRANSFERRED_LAYERS=3)
    fine_tune(tmp_path / "no_lm", "rte", [(0.4, 0.6)], LM_LOSS_WEIGHT=0.0)
    # A run without evaluations has no rows.
    folder = fake_workdirs.finetune(tmp_path / "x", "cola", {"matthews": 0.5})
    fake_workdirs.write_lines(folder, [{"step": 1, "loss": 2.0}])
    found = results(tmp_path)
    rows = curves.fine_tuning_rows(found)
    drawn = curves.drawn_rows(rows, paper_tables.choose_ablations(found))
    names = {row["workdir"].rpartition("/")[2] for row in rows}
    assert names == {"full", "part", "some", "no_lm"}
    names = {(row["ablation"], row["workdir"][-5:]) for row in drawn}
    assert names == {("full", "/full"), ("no_auxiliary_lm", "no_lm")}


def test_plot_of_two_tasks(tmp_path, figures):
    seeds = [(0.2, 0.5), (0.4, 0.8)], [(0.4, 0.7), (0.5, 0.9)]
    fine_tune(tmp_path / "a", "stsb", *seeds, metric="pearson")
    fine_tune(tmp_path / "b", "rte", [(0.5, 0.6), (0.6, 0.9)])
    bare = {"NUM_TRANSFERRED_LAYERS": -1}
    fine_tune(tmp_path / "c", "rte", [(0.5, 0.5), (0.5, 0.6)], **bare)
    rows = curves.fine_tuning_rows(results(tmp_path))
    path = curves.plot_fine_tuning(rows, tmp_path / "curves.png")
    (figure,) = figures
    stsb, rte = figure.axes
    assert stsb.get_title() == "STS-B, Pearson"
    assert rte.get_title() == "RTE, accuracy"

    def drawn(axes):
        return {
            (line.get_linestyle(), line.get_marker()): (
                list(line.get_xdata()),
                [round(each) for each in line.get_ydata()],
            )
            for line in axes.lines
        }

    assert drawn(stsb) == {
        ("-", "o"): ([100, 200], [30, 45]),
        ("--", "o"): ([100, 200], [60, 85]),
    }
    assert drawn(rte) == {
        ("-", "o"): ([100, 200], [50, 60]),
        ("--", "o"): ([100, 200], [60, 90]),
        ("-", "s"): ([100, 200], [50, 50]),
        ("--", "s"): ([100, 200], [50, 60]),
    }
    band = stsb.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == pytest.approx((20, 50))
    (legend,) = figure.legends
    rows = [paper_tables.ROWS[name] for name in ("full", "no_pretraining")]
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [*rows, "dev", "sample of train"]
    assert image.imread(path).shape[1] > 600


@pytest.mark.parametrize("number", [1, 5])
def test_there_are_as_many_panels_as_tasks(tmp_path, figures, number):
    for i in range(number):
        fine_tune(tmp_path / str(i), f"task{i}", [(0.5, 0.6)])
    rows = curves.fine_tuning_rows(results(tmp_path))
    curves.plot_fine_tuning(rows, tmp_path / "curves.png")
    (figure,) = figures
    assert [axes.get_title() for axes in figure.axes] == [
        f"task{i}, accuracy" for i in range(number)
    ]
    assert all(axes.get_xlim()[0] == 0 for axes in figure.axes)
