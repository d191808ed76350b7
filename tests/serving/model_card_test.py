import pytest

from gpt1_keras.serving import model_card
from tests.reference import data_files
from tests.reference import fake_workdirs


@pytest.mark.parametrize(
    "macros, expected",
    [
        # Its zero-shot tasks are generated, not its books.
        ({"CORPUS": "books", "DATA_DIR": None}, "`books`"),
        ({"CORPUS": None, "DATA_DIR": "data"}, "the generated sample corpus"),
        ({"DATA_DIR": "data"}, "`data`"),
        ({"DATA_DIR": ".", "TRAIN_FILE": "a.csv"}, "`a.csv`"),
    ],
)
def test_what_the_model_was_trained_on(tmp_path, macros, expected):
    sha256 = fake_workdirs.write_config(tmp_path, "pretrain.pretrain", **macros)
    result = {"run": "pretrain", "config_sha256": sha256, "seed": 1234}
    result |= {"metrics": {"loss": 3.5, "tokens": 9}, "num_examples": 1234}
    data_files.write(tmp_path, "result.json", result)
    facts = model_card.training_facts(tmp_path / "preset")
    assert facts["training data"] == expected
    assert facts["seed"] == "1234"
    assert facts["metrics on None"] == "loss 3.5000 (1,234)"
