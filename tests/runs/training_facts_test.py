import json

import pytest

from gpt1_keras.runs import export

RESULT = {
    "run": "finetune",
    "task": "cola",
    "split": "dev",
    "metrics": {"matthews": 0.4567, "accuracy": 0.75},
    "num_examples": 1043,
    "num_train_examples": 8551,
    "num_steps": 804,
    "seed": 0,
    "config_sha256": "abc123",
    "git_commit": None,
}


def write(folder, result=RESULT, macros="DATA_DIR = 'data'\n"):
    (folder / "preset").mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "config.gin").write_text(
        f"# config_sha256: abc123\n\nRUN = @finetune.finetune\n{macros}"
    )
    return folder / "preset"


def test_of_a_run(tmp_path):
    assert export.training_facts(write(tmp_path / "cola")) == {
        "run": "finetune (cola)",
        "training data": "`data`",
        "training examples": "8,551",
        "updates": "804",
        "metrics on dev": "matthews 0.4567, accuracy 0.7500 (1,043)",
        "seed": "0",
        "training configuration": "sha256 abc123",
    }


@pytest.mark.parametrize(
    "macros, expected",
    [
        ("DATA_DIR = None\n", "generated sample benchmarks"),
        ("DATA_DIR = '.'\nTRAIN_FILE = 'rows.csv'\n", "`rows.csv`"),
        ("CORPUS = 'books'\n", "`books`"),
        ("CORPUS = None\n", "the generated sample corpus"),
    ],
)
def test_training_data(tmp_path, macros, expected):
    found = export.training_facts(write(tmp_path / "x", macros=macros))
    assert found["training data"].startswith(expected)


def test_of_one_of_several_seeds(tmp_path):
    """Its config.gin lies above."""
    preset = write(tmp_path / "cola" / "seed_1")
    (tmp_path / "cola" / "seed_1" / "config.gin").rename(
        tmp_path / "cola" / "config.gin"
    )
    assert export.training_facts(preset)["training data"] == "`data`"


def test_of_a_preset_alone(tmp_path):
    (tmp_path / "preset").mkdir()
    assert export.training_facts(tmp_path / "preset") == {}
