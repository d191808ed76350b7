import types

import numpy as np
import pytest

from gpt1_keras.data.readers import glue
from gpt1_keras.models import builders
from gpt1_keras.runs import presets
from tests.reference import data_files
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

SCORES = (0.0, 4.75, 2.5, 3.0, 1.2)


@pytest.fixture(autouse=True)
def float32(set_dtype):
    """Every test leaves this policy behind."""


@pytest.fixture(scope="session")
def preset(tiny):
    return tiny.folder / "pretrained"


@pytest.fixture(scope="session")
def lstm(preset, tmp_path_factory):
    """A workdir with a preset of an LSTM that has the same tokenizer."""
    workdir = tmp_path_factory.mktemp("lstm")
    tokenizer = presets.load_tokenizer(preset)
    network = small_models.lstm_network(
        vocabulary_size=tokenizer.vocabulary_size, max_sequence_length=32
    )
    model = builders.gpt1_causal_lm(network, tokenizer)
    presets.save(model, workdir / "preset")
    return workdir


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """`folder` of presets and workdirs, `data` and `models` of two tasks.

    Weights are random; tests change nothing.
    """
    folder = tmp_path_factory.mktemp("tiny")
    data = tiny_task.write_cola(folder / "data")
    # Only the columns that are read.
    lines = ["index\tsentence1\tsentence2\tscore\n"]
    for i, score in enumerate(SCORES):
        words = " ".join(tiny_task.WORDS[i : i + 3])
        lines.append(f"{i}\tthe garden {words}\tthe old gate\t{score}\n")
    data_files.write(data, "glue/STS-B/dev.tsv", "".join(lines))
    tiny_task.write_preset(folder / "pretrained")
    models = {
        name: tiny_fine_tuned.write(folder / name, name, folder / "pretrained")
        for name in ("cola", "stsb")
    }
    # Random weights predict one class everywhere; now each in half the rows.
    model = models["cola"]
    logits = tiny_fine_tuned.logits_one_by_one(
        model, glue.read_cola(data, "dev")
    )
    bias = model.head.dense.bias
    bias.assign(bias - np.median(logits, axis=0).astype("float32"))
    presets.save(model, folder / "cola" / "preset")
    return types.SimpleNamespace(folder=folder, data=data, models=models)
