import pytest
from matplotlib import image

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import curves as curves_lib
from gpt1_keras.evaluation import paper_tables
from tests.reference import fake_workdirs


@pytest.fixture(name="drawn")
def _drawn(monkeypatch):
    """Figures saved."""
    kept = []
    save = curves_lib.save_figure

    def keep(figure, path):
        kept.append(figure)
        return save(figure, path)

    monkeypatch.setattr(curves_lib, "save_figure", keep)
    return kept


def results(folder):
    return comparison.over_seeds(comparison.find_runs([folder]))


def fine_tune(folder, task, *curves, metric="accuracy", **options):
    """Write a run with the (dev, train) pairs of each of its seeds."""
    metrics = [{metric: curve[-1][0]} for curve in curves]
    fake_workdirs.finetune(folder, task, metrics, **options)
    for seed, curve in enumerate(curves, 1):
        lines = fake_workdirs.evaluations(metric, *curve)
        fake_workdirs.write_lines(folder / f"seed_{seed}", lines)


def test_rows_of_an_aggregate(tmp_path):
    fine_tune(tmp_path / "a", "rte", [(0.5, 0.6)], [(0.7, 0.8), (0.9, 1.0)])
    rows = curves_lib.fine_tuning_rows(results(tmp_path))
    common = {"task": "rte", "ablation": "full", "metric": "accuracy"}
    common["workdir"] = str(tmp_path / "a")
    assert all(row.items() >= common.items() for row in rows)
    names = ("seed", "split", "updates", "score")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("1", "dev", 100, 0.5),
        ("1", "train_sample", 100, 0.6),
        ("2", "dev", 100, 0.7),
        ("2", "train_sample", 100, 0.8),
        ("2", "dev", 200, 0.9),
        ("2", "train_sample", 200, 1.0),
    ]


def test_runs_of_one_seed_are_joined_and_the_first_of_a_seed_counts(tmp_path):
    for name, seed, score in (("a", 1, 0.1), ("b", 2, 0.2), ("c", 2, 0.3)):
        folder = fake_workdirs.finetune(
            tmp_path / name, "rte", {"accuracy": score}, seed=seed
        )
        lines = fake_workdirs.evaluations("accuracy", (score, score))
        fake_workdirs.write_lines(folder, lines)
    found = results(tmp_path)
    rows = curves_lib.fine_tuning_rows(found)
    dev = [row for row in rows if row["split"] == "dev"]
    assert [(row["seed"], row["score"]) for row in dev] == [
        ("1", 0.1),
        ("2", 0.2),
    ]
    assert [row["workdir"] for row in dev] == [
        str(tmp_path / "a"),
        str(tmp_path / "b"),
    ]
    chosen = paper_tables.choose(found)
    assert curves_lib.drawn_rows(rows, chosen) == rows


def test_drawn_are_the_results_of_table_5(tmp_path):
    fine_tune(tmp_path / "full", "rte", [(0.5, 0.6)])
    fine_tune(tmp_path / "part", "rte", [(0.1, 0.1)], NUM_TRAIN_EXAMPLES=8)
    fine_tune(tmp_path / "some", "rte", [(0.2, 0.2)], NUM_TRANSFERRED_LAYERS=3)
    fine_tune(tmp_path / "no_lm", "rte", [(0.4, 0.6)], LM_LOSS_WEIGHT=0.0)
    found = results(tmp_path)
    rows = curves_lib.fine_tuning_rows(found)
    drawn = curves_lib.drawn_rows(rows, paper_tables.choose(found))
    assert {row["workdir"] for row in rows} > {row["workdir"] for row in drawn}
    assert {row["ablation"]: row["workdir"] for row in drawn} == {
        "full": str(tmp_path / "full"),
        "no_auxiliary_lm": str(tmp_path / "no_lm"),
    }


def test_plot_of_two_tasks(tmp_path, drawn):
    fine_tune(
        tmp_path / "a",
        "stsb",
        [(0.2, 0.5), (0.4, 0.8)],
        [(0.4, 0.7), (0.5, 0.9)],
        metric="pearson",
    )
    fine_tune(tmp_path / "b", "rte", [(0.5, 0.6), (0.6, 0.9)])
    bare = {"NUM_TRANSFERRED_LAYERS": -1}
    fine_tune(tmp_path / "c", "rte", [(0.5, 0.5), (0.5, 0.6)], **bare)
    found = results(tmp_path)
    path = curves_lib.plot_fine_tuning(
        curves_lib.fine_tuning_rows(found), tmp_path / "curves.png"
    )
    (figure,) = drawn
    stsb, rte = figure.axes
    assert stsb.get_title() == "STS-B, Pearson"
    assert rte.get_title() == "RTE, accuracy"

    def curves(shown):
        return {
            (line.get_linestyle(), line.get_marker()): (
                list(line.get_xdata()),
                [round(each) for each in line.get_ydata()],
            )
            for line in shown.lines
        }

    assert curves(stsb) == {
        ("-", "o"): ([100, 200], [30, 45]),
        ("--", "o"): ([100, 200], [60, 85]),
    }
    assert curves(rte) == {
        ("-", "o"): ([100, 200], [50, 60]),
        ("--", "o"): ([100, 200], [60, 90]),
        ("-", "s"): ([100, 200], [50, 50]),
        ("--", "s"): ([100, 200], [50, 60]),
    }
    band = stsb.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == pytest.approx((20, 50))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        paper_tables.ROWS["full"],
        paper_tables.ROWS["no_pretraining"],
        "dev",
        "sample of train",
    ]
    assert image.imread(path).shape[1] > 600


@pytest.mark.parametrize("number", [1, 2, 5])
def test_there_are_as_many_axes_as_tasks(tmp_path, drawn, number):
    for i in range(number):
        fine_tune(tmp_path / str(i), f"task{i}", [(0.5, 0.6)])
    rows = curves_lib.fine_tuning_rows(results(tmp_path))
    curves_lib.plot_fine_tuning(rows, tmp_path / "curves.png")
    (figure,) = drawn
    titles = [shown.get_title() for shown in figure.axes]
    assert titles == [f"task{i}, accuracy" for i in range(number)]
    assert all(shown.get_xlim()[0] == 0 for shown in figure.axes)


def test_nothing_without_evaluations(tmp_path):
    folder = fake_workdirs.finetune(tmp_path, "rte", {"accuracy": 0.5})
    assert curves_lib.fine_tuning_rows(results(tmp_path)) == []
    fake_workdirs.write_lines(folder, [{"step": 1, "loss": 2.0}])
    assert curves_lib.fine_tuning_rows(results(tmp_path)) == []
