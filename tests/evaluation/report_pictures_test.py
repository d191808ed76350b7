import csv

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import report
from tests.reference import fake_workdirs

LINES = fake_workdirs.evaluations("accuracy", (0.25, 0.5))


def of_fine_tuning(folder):
    (folder / "plots").mkdir(exist_ok=True)
    found = comparison.over_seeds(comparison.find_runs([folder]))
    chosen = paper_tables.choose(found)
    return report.fine_tuning(found, chosen, folder)


def test_curves_of_fine_tuning_and_their_numbers(tmp_path):
    for name, examples in (("a", None), ("b", 8)):
        folder = fake_workdirs.finetune(
            tmp_path / name,
            "rte",
            {"accuracy": 0.25},
            NUM_TRAIN_EXAMPLES=examples,
        )
        fake_workdirs.write_lines(folder, LINES)
    (picture,) = of_fine_tuning(tmp_path)
    assert picture.path == tmp_path / "plots" / "fine_tuning_curves.png"
    assert picture.uri().startswith("data:image/png;base64,iVBOR")
    assert picture.notes[1:] == [f"In the CSV only: {tmp_path / 'b'}."]
    with open(picture.data, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["workdir"] for row in rows] == [
        str(tmp_path / name) for name in "aabb"
    ]
    assert {row["split"]: float(row["score"]) for row in rows} == {
        "dev": 0.25,
        "train_sample": 0.5,
    }


def test_no_curves_without_evaluations_or_a_row(tmp_path):
    folder = fake_workdirs.finetune(tmp_path / "a", "rte", {"accuracy": 0.5})
    assert of_fine_tuning(tmp_path) == []
    fake_workdirs.write_lines(folder, LINES)
    (folder / "preset" / "config.json").unlink()
    assert of_fine_tuning(tmp_path) == []
    assert not list(tmp_path.glob("*.csv"))
    assert not list((tmp_path / "plots").iterdir())


def test_plots_of_evaluate_runs(tmp_path):
    fake_workdirs.evaluate(
        tmp_path / "a", "cola", {"matthews": 0.1}, ("confusion.png", b"a")
    )
    fake_workdirs.evaluate(
        tmp_path / "b", "stsb", {"pearson": 0.1}, ("scores.png", b"b")
    )
    fake_workdirs.write_json(
        tmp_path / "unlabelled" / "result.json",
        {"run": "evaluate", "task": "cola", "split": "test", "metrics": {}},
    )
    runs = comparison.find_runs([tmp_path])
    shown = report.evaluations(runs)
    assert [(each.title, each.alternative) for each in shown] == [
        (f"CoLA, dev: {tmp_path / 'a'}", "Predicted against true classes."),
        (f"STS-B, dev: {tmp_path / 'b'}", "Predicted against true scores."),
    ]
    assert all(each.is_small for each in shown)
    assert [each.path.read_bytes() for each in shown] == [b"a", b"b"]


def test_generated_data_are_named(tmp_path):
    constants = {
        "sst2": {
            "metric": "accuracy",
            "random": 0.5,
            "state_of_the_art": 0.9,
            "source": "a book",
        },
    }
    lines = [{"step": 2, "split": "probes", "sst2_accuracy": 0.7}]
    for name, data in (("sample", None), ("files", "data")):
        folder = tmp_path / name
        fake_workdirs.pretrain(folder / "books", lines, DATA_DIR=data)
        for layers in (None, 0, -1):
            fake_workdirs.finetune(
                folder / f"layers_{layers}",
                "mnli",
                {"accuracy": 0.5},
                NUM_TRANSFERRED_LAYERS=layers,
                DATA_DIR=data,
            )
        (folder / "plots").mkdir()
        runs = comparison.find_runs([folder])
        (right,) = report.probes(
            [run for run in runs if run.kind == "pretrain"], constants, folder
        )
        (left,) = report.transferred_layers(
            comparison.over_seeds(r for r in runs if r.kind == "finetune"),
            [],
            folder,
        )
        found = [
            note for note in (*right.notes, *left.notes) if "Generated" in note
        ]
        if data is None:
            assert found == [
                f"Generated sample data: {folder / 'books'}.",
                "Generated sample data: MNLI.",
            ]
        else:
            assert found == []


def test_page_of_the_worst_errors_is_named(tmp_path):
    picture = ("confusion.png", b"a")
    folder = tmp_path / "dev"
    fake_workdirs.evaluate(folder, "cola", {"matthews": 0.1}, picture)
    (shown,) = report.evaluations(comparison.find_runs([folder]))
    assert shown.notes == []
    (folder / "tokens.html").write_text("a page")
    (shown,) = report.evaluations(comparison.find_runs([folder]))
    assert shown.notes == [
        f"Its worst errors, token by token: {folder / 'tokens.html'}."
    ]
