from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import run_tables
from tests.reference import fake_workdirs


def find(folder):
    return comparison.find([folder])[0]


def texts(table):
    return [[cell.text for cell in row] for row in table.cells()]


def test_pretraining_runs_finished_and_not(tmp_path):
    lines = [
        {"step": 5, "split": "held_out", "perplexity": 300.25},
        {"step": 9, "perplexity": 250.0},
    ]
    fake_workdirs.pretrain(tmp_path / "a", lines)
    fake_workdirs.write_config(tmp_path / "b", "pretrain.pretrain", A=1)
    fake_workdirs.write_lines(tmp_path / "b", lines)
    table = run_tables.pretraining(find(tmp_path))
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert texts(table) == [
        [a, "transformer", "12", "116,534,784", "9"]
        + ["512,000", "20.1", "", "18.4"],
        [b, "", "", "", "9", "", "300.2", "", ""],
    ]
    assert table.cells()[1][0].note == "not finished"


def test_perplexity_of_texts(tmp_path):
    fake_workdirs.perplexity(tmp_path)
    table = run_tables.perplexity(find(tmp_path))
    assert texts(table) == [
        ["novel.txt", "54.6", "321.5", "12,345", "512", "1.2", "out/books"]
        + [str(tmp_path)],
    ]
    assert table.cells()[0][0].note == "all"
    assert len(table.header) == 8


def test_zero_shot(tmp_path):
    macros = {"DATA_DIR": None, "LABEL_WORDS": (("bad", "sad"), ("good",))}
    sha256 = fake_workdirs.write_config(
        tmp_path, "zero_shot.zero_shot", **macros
    )
    metrics = {"matthews": 0.066, "accuracy": 0.478, "threshold": -5.1}
    result = {
        **{"run": "zero_shot", "config_sha256": sha256, "task": "cola"},
        **{"split": "dev", "metrics": metrics, "num_examples": 1043},
        **{"majority": {"matthews": 0.0, "accuracy": 0.691}, "random": 0.0},
    }
    fake_workdirs.write_json(tmp_path / "result.json", result)
    table = run_tables.zero_shot(find(tmp_path))
    assert texts(table) == [
        ["CoLA", "dev", "Matthews", "6.6", "0.0", "0.0", "1,043"]
        + ["sample", "", str(tmp_path)],
        ["", "", "accuracy", "47.8", "", "69.1", "", "", "", ""],
        ["", "", "threshold", "-5.1", "", "", "", "", "", ""],
    ]
    assert table.cells()[0][0].note == "bad, sad / good"
    assert len(table.header) == 10


def test_zero_shot_over_training(tmp_path):
    fake_workdirs.pretrain(
        tmp_path,
        [
            {"step": 2, "split": "probes", "sst2_accuracy": 0.5, "seconds": 1},
            {"step": 4, "split": "probes", "sst2_accuracy": 0.75}
            | {"cola_auc": 0.6, "cola_threshold": -3.0, "dprd_num_last": 4},
        ],
        DATA_DIR=None,
        NUM_PROBE_EXAMPLES=1500,
    )
    (run,) = find(tmp_path)
    constants = {"sst2": {"metric": "accuracy", "random": 0.5}}
    table = run_tables.zero_shot_over_training(run, constants)
    assert table.header == ["steps", "SST-2 accuracy", "CoLA AUC"]
    assert texts(table) == [
        ["2", "50.0", ""],
        ["4", "75.0", "60.0"],
        ["random", "50.0", ""],
    ]
    assert table.notes == [
        "1,500 examples of each split.",
        "Generated sample data: all tasks.",
    ]
    fake_workdirs.write_lines(tmp_path, [{"step": 1, "loss": 2.0}])
    (run,) = find(tmp_path)
    assert run_tables.zero_shot_over_training(run, constants) is None


def test_settings_that_differ(tmp_path):
    def settings():
        return run_tables.settings("finetune", find(tmp_path))

    def finetune(name, task, **macros):
        fake_workdirs.finetune(
            tmp_path / name, task, {"accuracy": 0.5}, NUM_EPOCHS=3, **macros
        )

    finetune("a", "rte")
    assert settings() is None
    finetune("b", "cola")
    finetune("c", "rte", WEIGHT_DECAY=0.01)
    # A result without its config.gin says nothing.
    path = tmp_path / "d" / "result.json"
    fake_workdirs.write_json(path, {"run": "finetune"})
    table = settings()
    assert table.header == ["workdir", "WEIGHT_DECAY"]
    names = [str(tmp_path / name) for name in "abc"]
    assert texts(table) == list(map(list, zip(names, ["", "", "0.01"])))
    # What else a grid runs is no setting of its results.
    finetune("e", "rte", ROWS=("full",))
    assert settings().header == ["workdir", "WEIGHT_DECAY"]
    # A parameter without a macro is one, unless only one run has it.
    for name, value in (("a", 0.9), ("b", 0.999), ("c", 0.999)):
        with open(tmp_path / name / "config.gin", "a") as config:
            config.write(f"finetune.finetune.beta = {value}\n")
            config.write(f"finetune.finetune.of_{name} = 1\n")
    more = ["WEIGHT_DECAY", "finetune.finetune.beta"]
    assert settings().header == ["workdir", *more]


def test_all_results(tmp_path):
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.6}]
    fake_workdirs.finetune(tmp_path / "a", "rte", metrics, LM_LOSS_WEIGHT=0.0)
    fake_workdirs.pretrain(tmp_path / "b", [])
    results = comparison.join_seeds(find(tmp_path))
    assert texts(run_tables.all_results(results)) == [
        ["finetune", "RTE", "dev", "no_auxiliary_lm"]
        + ["accuracy 55.0 (50.0 to 60.0)", "2", str(tmp_path / "a")],
        ["pretrain", "language_model", "held_out", ""]
        + ["loss 3; perplexity 20.1", "1", str(tmp_path / "b")],
    ]
