import json

import pytest

from gpt1_keras.serving import model_card

REQUEST = {"text": ['a "quoted" é'], "choices": [["b", "c"]]}
RESULT = {
    **{"run": "finetune", "task": "cola", "split": "dev", "num_steps": 804},
    **{"metrics": {"matthews": 0.4567, "accuracy": 0.75}, "seed": 0},
    **{"num_examples": 1043, "num_train_examples": 8551, "git_commit": None},
    "config_sha256": "abc123",
}


def test_text():
    facts = dict(
        metrics={"accuracy": 0.91234},
        identity={},
        training={},
        compared={
            "identical_texts": 0.9987,
            "identical_tokens": 1.0,
            "largest_difference": 2.5e-7,
        },
        labels=["no", "yes", "a`b\n|c"],
        request=REQUEST,
        name="sst2",
        preset="out/sst2/preset",
        num_examples=872,
        split="dev",
        weights_dtype="float16",
        num_parameters=5338112,
        sequence_length=512,
        config_sha256="abc",
    )
    card = model_card.text(**facts)
    for part in (
        *(
            "# sst2",
            "| accuracy | 0.9123 |",
            "`no`, `yes`, a\\`b &#124;c",
            "99.8700%",
        ),
        *("2.5e-07", "5,338,112", "float16", "sha256 abc", "Unknown: there"),
    ):
        assert part in card
    (line,) = (x for x in card.splitlines() if x.startswith('{"inputs"'))
    assert json.loads(line) == {"inputs": REQUEST}
    identity = {
        "paragraphs": 12345,
        "identical_paragraphs": 0.9975,
        "identical_paragraph_tokens": 0.99995,
    }
    training = {"training examples": "8,551", "seed": "42"}
    card = model_card.text(**facts | dict(identity=identity, training=training))
    rows = "| training examples | 8,551 |\n| seed | 42 |"
    for part in ("On 12,345 paragraphs", "99.7500%", "99.9950%", rows):
        assert part in card
    assert "Unknown: there" not in card


def write(folder, macros="DATA_DIR = 'data'\n"):
    (folder / "preset").mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(RESULT))
    (folder / "config.gin").write_text(
        f"# config_sha256: abc123\n\nRUN = @finetune.finetune\n{macros}"
    )
    return folder / "preset"


def test_training_facts(tmp_path):
    preset = write(tmp_path / "cola" / "seed_1")
    expected = {
        "run": "finetune (cola)",
        "training data": "`data`",
        "training examples": "8,551",
        "steps": "804",
        "metrics on dev": "matthews 0.4567, accuracy 0.7500 (1,043)",
        "seed": "0",
        "training configuration": "sha256 abc123",
    }
    assert model_card.training_facts(preset) == expected
    # The config.gin of one of several seeds is in the folder above.
    config = preset.parent / "config.gin"
    config.rename(tmp_path / "cola" / "config.gin")
    assert model_card.training_facts(preset) == expected
    (tmp_path / "preset").mkdir()
    assert model_card.training_facts(tmp_path / "preset") == {}


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
    found = model_card.training_facts(write(tmp_path / "x", macros))
    assert found["training data"].startswith(expected)
