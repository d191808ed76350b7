import shutil
from unittest import mock

import numpy as np
import pytest
import sklearn.metrics

from gpt1_keras import bindings
from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.text import subwords
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_runs


def auc_by_hand(preset, rows):
    """By whole forward passes; return it, labels and average scores."""
    model = causal_lm.GPT1CausalLM.from_preset(str(preset))
    ids = [model.preprocessor.tokenizer.tokenize(row.text) for row in rows]
    scores = [small_models.log_probabilities(model, x).mean() for x in ids]
    labels = [int(row.label) for row in rows]
    auc = sklearn.metrics.roc_auc_score(labels, scores)
    return pytest.approx(auc), labels, np.array(scores)


def test_cola_through_main(tiny, preset, tmp_path):
    settings = {"PRESET": str(preset), "DATA_DIR": str(tiny.data)}
    arguments = "gin/zero_shot/cola.gin", tmp_path
    found = tiny_runs.succeed(*arguments, **settings)
    assert (found["run"], found["task"]) == ("zero_shot", "cola")
    assert (found["split"], found["num_examples"]) == ("dev", 40)
    rows = glue.read_cola(tiny.data, "dev")
    auc, labels, scores = auc_by_hand(preset, rows)
    assert found["metrics"]["auc"] == auc
    predicted = scores > found["metrics"]["threshold"]
    assert found["metrics"]["matthews"] == pytest.approx(
        sklearn.metrics.matthews_corrcoef(labels, predicted), abs=1e-6
    )
    # Other rows are another measurement, also those of the threshold.
    path = shutil.copytree(tiny.data, tmp_path / "x") / "glue/CoLA/train.tsv"
    path.write_text("".join(path.read_text().splitlines(True)[:20]))
    settings["DATA_DIR"] = str(tmp_path / "x")
    again = tiny_runs.succeed(*arguments, **settings)
    assert again["metrics"] != found["metrics"]


def test_another_split_and_a_part_of_its_examples(tiny, preset, tmp_path):
    settings = {"SPLIT": "train", "NUM_EXAMPLES": 12}
    run = "zero_shot/cola", preset, tmp_path, tiny.data
    with mock.patch.object(subwords, "warn_of_unknown") as warn:
        found = tiny_runs.run(*run, **settings)
    assert (found["split"], found["num_examples"]) == ("train", 12)
    rows = examples.draw_subset(glue.read_cola(tiny.data, "train"), 12)
    encode = presets.load_tokenizer(presets.find(preset)).encode
    ids = [index for row in rows for index in encode(row.text)]
    warn.assert_called_with("cola train", ids.count(0), len(ids))
    metrics = found["metrics"]
    assert metrics["auc"] == auc_by_hand(preset, rows)[0]
    # The threshold is that of the same rows.
    assert metrics["matthews"] == metrics["matthews_train"]


def test_what_is_no_task_is_refused(tmp_path):
    other = bindings.Reference("fit.Intervals", False)
    for run, wrong, said in (
        ("zero_shot/cola", {"zero_shot.ZeroShotTasks.tasks": ()}, "0 tasks"),
        ("pretrain", {"pretrain.pretrain.zero_shot": other}, "give @zero_shot"),
    ):
        found = tiny_runs.call_main(f"gin/{run}.gin", tmp_path, **wrong)
        assert found[0] == 2 and said in found[1]


def test_bfloat16_changes_little(tiny, preset, tmp_path):
    """Batches and buckets change nothing: shared_prefix_test.py."""
    exact, rounded = (
        tiny_runs.run(
            *("zero_shot/cola", preset, tmp_path / dtype, tiny.data),
            DTYPE=dtype,
        )
        for dtype in ("float32", "mixed_bfloat16")
    )
    expected = exact["metrics"]["threshold"]
    found = rounded["metrics"]["threshold"]
    assert found != expected == pytest.approx(found, rel=0.02)


def test_during_pretraining(tiny, tmp_path, cache):
    """Tasks are measured at powers of two and change no weight."""
    changes = {"NUM_STEPS": 6, "fit.Intervals.sample_steps": 0}
    run = kill_run.Experiment(tmp_path, **changes)
    files, settings = run.gin_files, run.settings
    plain, measured = tmp_path / "plain", tmp_path / "measured"
    tiny_runs.succeed(files, plain, **settings)
    files += ("gin/zero_shot/while_pretraining.gin",)
    settings |= {"ZERO_SHOT_TASKS": ("cola",), "DATA_DIR": str(tiny.data)}
    settings["zero_shot.ZeroShotTasks.first_step"] = 2
    tiny_runs.succeed(files, measured, **settings)
    lines = kill_run.lines(measured, "probes")
    assert [line["step"] for line in lines] == [2, 4, 6]
    assert all(0 <= line["cola_auc"] <= 1 for line in lines)
    ours, theirs = map(kill_run.last_checkpoint, (measured, plain))
    assert ours[0] == theirs[0] == 6
    np.testing.assert_equal(ours[1], theirs[1])
