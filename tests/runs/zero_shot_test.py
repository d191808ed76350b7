import numpy as np
import pytest
import sklearn.metrics

from gpt1_keras.data.readers import glue
from gpt1_keras.models import causal_lm
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs


def average_log_probability(model, text):
    """By the logits of the whole model, one sentence at a time."""
    preprocessor, model.preprocessor = model.preprocessor, None
    ids = np.array(preprocessor.tokenizer.tokenize(text))
    logits = model.predict(small_models.inputs(ids[None]), verbose=0)
    model.preprocessor = preprocessor
    logits = logits[0].astype("f8")
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.mean([log_p[t - 1, ids[t]] for t in range(1, len(ids))])


def test_cola_through_main(tiny, tmp_path):
    found = tiny_fine_tuned.succeed(
        "gin/zero_shot/cola.gin",
        tmp_path,
        PRESET=str(tiny.folder / "pretrained"),
        DATA_DIR=str(tiny.data),
    )
    assert (found["run"], found["task"]) == ("zero_shot", "cola")
    assert (found["split"], found["num_examples"]) == ("dev", 40)
    model = causal_lm.GPT1CausalLM.from_preset(str(tiny.folder / "pretrained"))
    rows = glue.read_cola(tiny.data, "dev")
    scores = [average_log_probability(model, row.text) for row in rows]
    labels = [int(row.label) for row in rows]
    assert found["metrics"]["auc"] == pytest.approx(
        sklearn.metrics.roc_auc_score(labels, scores)
    )
    predicted = np.array(scores) > found["metrics"]["threshold"]
    assert found["metrics"]["matthews"] == pytest.approx(
        sklearn.metrics.matthews_corrcoef(labels, predicted), abs=1e-6
    )


def test_how_it_is_computed_changes_little_or_nothing(tiny, preset, tmp_path):
    """Batches and buckets nothing; bfloat16 a little."""
    found = []
    for i, changes in enumerate(
        (
            {"batch_size": 40, "bucket_lengths": (32,)},
            {"batch_size": 3, "bucket_lengths": (16, 32)},
            {"dtype": "mixed_bfloat16"},
        )
    ):
        workdir = tmp_path / str(i)
        result = tiny_runs.zero_shot(workdir, preset, tiny.data, **changes)
        found.append(result["metrics"])
    one, two, three = found
    assert one == pytest.approx(two, abs=1e-4)
    assert one["threshold"] != three["threshold"]
    assert one["threshold"] == pytest.approx(three["threshold"], rel=0.02)


def test_during_pretraining(tiny, tmp_path, cache):
    """Tasks are measured at powers of two and change no weight."""
    books = kill_run.write_books(tmp_path / "books")
    settings = kill_run.SETTINGS | {
        "CORPUS": str(books),
        "NUM_STEPS": 6,
        "fit.Intervals.sample_steps": 0,
    }
    files = ("gin/pretrain.gin", "gin/model/tiny.gin")
    plain, measured = tmp_path / "plain", tmp_path / "measured"
    for workdir, more_files, more in (
        (plain, (), {}),
        (
            measured,
            ("gin/zero_shot/while_pretraining.gin",),
            {
                "ZERO_SHOT_TASKS": ("cola",),
                "zero_shot.ZeroShotTasks.first_step": 2,
                "DATA_DIR": str(tiny.data),
            },
        ),
    ):
        tiny_fine_tuned.succeed(
            (*files, *more_files), workdir, **settings | more
        )
    lines = [x for x in kill_run.lines(measured) if x.get("split") == "probes"]
    assert [line["step"] for line in lines] == [2, 4, 6]
    assert all(0 <= line["cola_auc"] <= 1 for line in lines)
    ours, theirs = map(kill_run.last_checkpoint, (measured, plain))
    assert ours[0] == theirs[0] == 6
    for key, value in ours[1].items():
        np.testing.assert_array_equal(value, theirs[1][key], err_msg=key)
