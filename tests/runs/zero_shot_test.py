"""A probe through `gpt1_keras.main`, and probes during pretraining."""

import contextlib
import io
import random

import gin
import keras
import numpy as np
import pytest
from sklearn import metrics

from gpt1_keras import main
from gpt1_keras import results
from gpt1_keras.data.readers import glue
from gpt1_keras.models import causal_lm
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    directory = tmp_path_factory.mktemp("zero_shot")
    return tiny_task.Experiment(directory, backend=keras.config.backend())


def run(arguments):
    errors = io.StringIO()
    policy = keras.config.dtype_policy()
    try:
        with contextlib.redirect_stderr(errors):
            status = main.main(list(map(str, arguments)))
    finally:
        gin.clear_config()
        keras.config.set_dtype_policy(policy)
    return status, errors.getvalue()


def probe(experiment, workdir, *settings, name="cola"):
    return run(
        [
            *("--gin", f"gin/zero_shot/{name}.gin"),
            *("--set", f"DATA_DIR = {str(experiment.directory / 'data')!r}"),
            *("--set", f"PRESET = {str(experiment.directory / 'preset')!r}"),
            *(word for each in settings for word in ("--set", each)),
            *("--workdir", workdir),
        ]
    )


def average_log_probability(model, text):
    """By the logits of the whole model, one sentence at a time."""
    preprocessor, model.preprocessor = model.preprocessor, None
    ids = np.array(preprocessor.tokenizer.tokenize(text))
    logits = model.predict(small_models.inputs(ids[None]), verbose=0)
    model.preprocessor = preprocessor
    logits = logits[0].astype("f8")
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.mean([log_p[t - 1, ids[t]] for t in range(1, len(ids))])


def test_cola(experiment, tmp_path):
    status, errors = probe(experiment, tmp_path / "run")
    assert status == 0, errors
    found = results.read(tmp_path / "run")
    assert (found["run"], found["task"], found["split"]) == (
        *("zero_shot", "cola"),
        "dev",
    )
    model = causal_lm.GPT1CausalLM.from_preset(
        str(experiment.directory / "preset")
    )
    rows = glue.read_cola(experiment.directory / "data", "dev")
    scores = [average_log_probability(model, row.text) for row in rows]
    labels = [int(row.label) for row in rows]
    assert found["metrics"]["auc"] == pytest.approx(
        metrics.roc_auc_score(labels, scores)
    )
    guesses = np.array(scores) > found["metrics"]["threshold"]
    assert found["metrics"]["matthews"] == pytest.approx(
        metrics.matthews_corrcoef(labels, guesses), abs=1e-6
    )


@pytest.fixture(scope="module")
def reviews(experiment):
    """SST-2 with sentences that the preset's vocabulary is of."""
    draws = random.Random(2)
    rows = [tiny_task.sentence(draws) for _ in range(40)]
    folder = experiment.directory / "data" / "glue" / "SST-2"
    folder.mkdir(parents=True)
    lines = ["sentence\tlabel", *(f"{text}\t{label}" for text, label in rows)]
    (folder / "dev.tsv").write_text("\n".join(lines) + "\n")


def test_label_words_of_sst2(experiment, reviews, tmp_path):
    found = []
    for i, settings in enumerate(
        (
            [],
            ["LABEL_WORDS = (('harbour',), ('garden', 'tree'))"],
            ["LABEL_WORDS = (('garden', 'tree'), ('harbour',))"],
        )
    ):
        status, errors = probe(
            experiment, tmp_path / str(i), *settings, name="sst2"
        )
        assert status == 0, errors
        found.append(results.read(tmp_path / str(i))["metrics"]["auc"])
    assert abs(found[0] - found[1]) > 0.01
    # Good and bad the other way round: every pair is in the other order.
    assert found[1] == pytest.approx(1 - found[2]) != 0.5


@pytest.mark.parametrize("words", ["'good'", "((), ('good',))", "('a', 'b')"])
def test_wrong_label_words_end_in_one_line(experiment, tmp_path, words):
    workdir = tmp_path / "run"
    status, errors = probe(
        experiment, workdir, f"LABEL_WORDS = {words}", name="sst2"
    )
    assert status == 2
    last = errors.strip().split("\n")[-1]
    assert last.startswith("error: LABEL_WORDS ")
    assert "not two lists of words: give" in last and "Traceback" not in errors


@pytest.mark.parametrize(
    "setting, wrong",
    [
        ("probing.Scoring.batch_size = 0", "batch_size is 0: give"),
        ("probing.Scoring.softmax_chunk = -1", "softmax_chunk is -1: give"),
        ("probing.Scoring.bucket_lengths = (32, 0)", "bucket_lengths is"),
        ("NUM_EXAMPLES = 0", "NUM_EXAMPLES is 0: give"),
    ],
)
def test_wrong_counts_end_in_one_line(experiment, tmp_path, setting, wrong):
    status, errors = probe(experiment, tmp_path / "run", setting, name="cola")
    assert status == 2
    last = errors.strip().split("\n")[-1]
    assert last.startswith("error: ") and wrong in last
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "name, split",
    [("lambada", "dev"), ("wsc", "test"), ("pdp", "test"), ("dprd", "test")],
)
def test_without_data_dir_sample_files_are_probed(
    experiment, tmp_path, monkeypatch, name, split
):
    monkeypatch.setenv(
        "GPT1_KERAS_CACHE", str(experiment.directory / "sample_cache")
    )
    settings = ["DATA_DIR = None", "SAMPLE_EXAMPLES = 16"]
    status, errors = probe(experiment, tmp_path / "run", *settings, name=name)
    assert status == 0, errors
    found = results.read(tmp_path / "run")
    assert (found["task"], found["split"]) == (name, split)
    assert found["num_examples"] == 4
    assert 0 <= found["metrics"]["accuracy"] <= 1


def test_dtype_is_that_of_the_network(experiment, tmp_path):
    found = []
    for name in ("float32", "mixed_bfloat16"):
        workdir = tmp_path / name
        status, errors = probe(experiment, workdir, f"DTYPE = {name!r}")
        assert status == 0, errors
        found.append(results.read(workdir)["metrics"]["threshold"])
    assert found[0] != found[1] and found[0] == pytest.approx(
        found[1], rel=0.02
    )


def test_batches_and_buckets_change_nothing(experiment, tmp_path):
    found = []
    for i, settings in enumerate(
        (
            [
                "probing.Scoring.batch_size = 40",
                "probing.Scoring.bucket_lengths = (32,)",
            ],
            [
                "probing.Scoring.batch_size = 3",
                "probing.Scoring.bucket_lengths = (7,)",
            ],
        )
    ):
        status, errors = probe(experiment, tmp_path / str(i), *settings)
        assert status == 0, errors
        found.append(results.read(tmp_path / str(i))["metrics"])
    assert found[0] == pytest.approx(found[1], abs=1e-4)


@pytest.mark.parametrize(
    "settings, expected",
    [
        (
            ["probes.probe.name = 'kola'"],
            "no zero-shot task 'kola': did you mean 'cola'",
        ),
        (["SPLIT = 'dve'"], "'dve'"),
        (["PRESET = 'nowhere'"], "PRESET nowhere"),
        (["probes.probe.name = 'race'"], "RACE"),
        (["NUM_EXAMPLES = -5"], "NUM_EXAMPLES is -5"),
        (["probes.probe.name = ('cola',)"], "no zero-shot task ('cola',)"),
    ],
)
def test_mistakes_end_in_one_line(experiment, tmp_path, settings, expected):
    status, errors = probe(experiment, tmp_path / "run", *settings)
    assert status == 2
    last = errors.strip().split("\n")[-1]
    assert last.startswith("error: ") and expected in last
    assert not (tmp_path / "run" / "result.json").exists()


def test_probes_during_pretraining(experiment, tmp_path):
    """They are measured at powers of two and change no weight."""
    pretraining = kill_run.Experiment(
        tmp_path,
        backend=keras.config.backend(),
        **{"fitting.Intervals.sample_steps": 0},
    )
    probing = kill_run.Experiment(
        tmp_path,
        backend=keras.config.backend(),
        **{"fitting.Intervals.sample_steps": 0},
    )
    probing.gin_files += ("gin/zero_shot/while_pretraining.gin",)
    probed, plain = tmp_path / "probed", tmp_path / "plain"
    status, errors = run(
        probing.command(
            probed,
            PROBES=("cola",),
            **{"probing.Probing.first_step": 4},
            DATA_DIR=str(experiment.directory / "data"),
        )[3:]
    )
    assert status == 0, errors
    lines = [x for x in kill_run.lines(probed) if x.get("split") == "probes"]
    assert [line["step"] for line in lines] == [4, 8, 16, 20]
    assert all(0 <= line["cola_auc"] <= 1 for line in lines)
    status, errors = run(pretraining.command(plain)[3:])
    assert status == 0, errors
    ours, theirs = map(kill_run.last_checkpoint, (probed, plain))
    assert ours[0] == theirs[0] == kill_run.NUM_STEPS
    for key, value in ours[1].items():
        np.testing.assert_array_equal(value, theirs[1][key], err_msg=key)
