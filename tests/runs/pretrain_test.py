import os
import shutil
from unittest import mock

import numpy as np
import pytest

from gpt1_keras import errors as errors_lib
from gpt1_keras import results
from gpt1_keras.models import causal_lm
from gpt1_keras.training import fit
from tests.reference import kill_run
from tests.reference import tiny_runs


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    made = kill_run.Experiment(tmp_path_factory.mktemp("pretrain"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPT1_KERAS_CACHE", made.environment["GPT1_KERAS_CACHE"])
        yield made


def run(experiment, workdir, expected=0, **settings):
    """Call main in this process; return stderr."""
    status, errors = tiny_runs.call_main(
        experiment.gin_files, workdir, **experiment.settings | settings
    )
    assert status == expected, errors
    return errors


@pytest.fixture(scope="module")
def finished(experiment):
    """The workdir of a finished run; tests do not change it."""
    workdir = experiment.directory / "finished"
    run(experiment, workdir)
    return workdir


def test_workdir_holds_everything(finished):
    assert {path.name for path in finished.glob("[!.]*")} == {
        *("config.gin", "metrics.jsonl", "checkpoints", "preset"),
        *("result.json", "plots", "tensorboard", "corpus.json"),
    }
    picture = finished / "plots" / "learning_curve.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    checkpoints = {path.name for path in (finished / "checkpoints").iterdir()}
    assert checkpoints == {"00000018", "00000020"}
    found = results.read(finished)
    assert (found["run"], found["task"]) == ("pretrain", "language_model")
    assert (found["split"], found["seed"]) == ("held_out", 42)
    assert found["paper"] == {"perplexity": 18.4}
    assert found["tokens_seen"] == 20 * 4 * 16
    assert found["num_examples"] == found["metrics"]["tokens"] > 500
    config = (finished / "config.gin").read_text()
    assert f"# config_sha256: {found['config_sha256']}\n" in config


def test_every_dial_reaches_the_training(experiment, monkeypatch):
    begun = mock.Mock(side_effect=errors_lib.RunError("begun"))
    monkeypatch.setattr(fit, "fit", begun)
    changes = {"pretrain.Training.clip_norm": 0.25, "NUM_EPOCHS": 1.7}
    changes |= {"pretrain.Training.repeated_share": 0.5, "NUM_STEPS": None}
    run(experiment, experiment.directory / "begun", expected=1, **changes)
    (learner, batches), options = begun.call_args
    assert learner.clip_norm == 0.25 and batches._repeated_share == 0.5
    steps = 1.7 * batches.num_windows / 4
    assert abs(options["num_steps"] - steps) <= 0.5 and steps > 20


def test_losses_fall_and_lines_come_at_their_intervals(finished):
    lines = kill_run.lines(finished)
    training = [x["loss"] for x in lines if "gradient_norm" in x]
    rows = kill_run.lines(finished, "held_out")
    held_out = {row["step"]: row["loss"] for row in rows}
    assert training[-1] < training[0] - 0.5
    assert list(held_out) == [4, 8, 12, 16, 20]
    assert held_out[20] < held_out[4] - 0.1
    samples = {x["step"]: x["sample"] for x in lines if "sample" in x}
    assert list(samples) == [5, 10, 15, 20]
    assert all(text.startswith("the") for text in samples.values())
    rates = [x["learning_rate"] for x in lines if "learning_rate" in x]
    assert rates[0] == 0.0 and max(rates) == pytest.approx(1e-2)


def test_preset_is_the_model_that_was_measured(experiment, finished):
    """By the run that measures any text: perplexity_test.py."""
    (corpus,) = (experiment.directory / "cache").iterdir()
    settings = {"SPLIT": "held_out", "SEQUENCE_LENGTH": 16}
    settings["EVALUATION_STRIDE"] = 8
    found = tiny_runs.perplexity(finished, corpus, **settings)
    expected = results.read(finished)["metrics"]
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_run_does_not_resume_on_other_books(
    experiment, finished, tmp_path, monkeypatch
):
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path))
    workdir = experiment.directory / "other_books"
    shutil.copytree(finished, workdir)
    (workdir / "result.json").unlink()
    book = experiment.directory / "books" / "book_0.txt"
    text, state = book.read_text(), book.stat()
    # The same words, so that vocabulary and lengths stay what they were.
    lines = [" ".join(x.split()[::-1]) for x in text.splitlines()]
    book.write_text("\n".join(lines) + "\n")
    errors = run(experiment, workdir, expected=2)
    assert "the files behind books have changed since" in errors
    book.write_text(text)
    os.utime(book, ns=(state.st_atime_ns, state.st_mtime_ns))
    # The same books elsewhere; after the end, a path is part of the record.
    moved = shutil.copytree(book.parent, tmp_path / "books")
    run(experiment, workdir, CORPUS=str(moved))
    found, before = results.read(workdir), results.read(finished)
    names = ("metrics", "config_sha256")
    assert [found[n] for n in names] == [before[n] for n in names]
    assert f"CORPUS '{moved}' ->" in run(experiment, workdir, expected=2)


def test_extended_run_continues_and_its_preset_is_restored(
    experiment, finished
):
    workdir = experiment.directory / "extended"
    shutil.copytree(finished, workdir)
    run(experiment, workdir, NUM_STEPS=22, EXTEND=True)
    lines = kill_run.lines(workdir)
    before = kill_run.lines(finished)
    assert lines[: len(before)] == before
    assert [x["step"] for x in lines[len(before) :]] == [21, 22, 22]
    assert kill_run.last_checkpoint(workdir)[0] == 22
    result = results.read(workdir)
    assert result["num_steps"] == 22
    assert result["seconds"] > results.read(finished)["seconds"]
    weights = workdir / "preset" / "model.weights.h5"

    def read():
        preset = str(workdir / "preset")
        return causal_lm.GPT1CausalLM.from_preset(preset).get_weights()

    expected = read()
    weights.write_bytes(b"x")
    run(experiment, workdir, NUM_STEPS=22)
    np.testing.assert_equal(read(), expected)
    assert results.read(workdir)["metrics"] == result["metrics"]
    # Without a checkpoint it is not trained again without a word.
    weights.unlink()
    shutil.rmtree(workdir / "checkpoints")
    errors = run(experiment, workdir, expected=2, NUM_STEPS=22)
    assert "weights.h5" in errors
    assert "has no checkpoint to restore it" in errors
    errors = run(experiment, workdir, expected=2, NUM_STEPS=24, EXTEND=True)
    assert "has no checkpoint to extend it from" in errors
    assert (workdir / "preset").exists() and kill_run.lines(workdir)


def test_non_finite_loss_names_the_step_and_a_remedy(experiment):
    workdir = experiment.directory / "too_fast"
    settings = {
        **{"PEAK_LEARNING_RATE": 1.0, "fit.Intervals.checkpoint_steps": 1},
        # What has no gradient after it had one grows without bounds.
        "optimizers.adam_with_decay.beta_2": 0.0,
        "optimizers.adam_with_decay.epsilon": 1e-30,
    }
    errors = run(experiment, workdir, expected=1, **settings)
    assert "at step 3: lower PEAK_LEARNING_RATE" in errors
    assert kill_run.last_checkpoint(workdir)[0] == 2
    assert kill_run.last_step(workdir / "metrics.jsonl") == 2
    assert not (workdir / "result.json").exists()


def test_a_preset_is_trained_further(experiment, finished):
    """At a rate of next to nothing it stays what it was; then it learns."""
    (corpus,) = (experiment.directory / "cache").iterdir()
    further = experiment.directory / "further"
    settings = {
        name: experiment.settings[name]
        for name in experiment.settings
        if name.startswith(("held_out.", "fit.", "pretrain.", "SEQUENCE"))
    } | {"PRESET": str(finished), "CORPUS": str(corpus), "DTYPE": "float32"}
    gin_files = ("gin/pretrain.gin", "gin/model/preset.gin")
    allowed = ["tests.reference.recorded_run"]

    def loss(workdir, *overlays, **changes):
        files, values = [*gin_files, *overlays], settings | changes
        tiny_runs.call(files, workdir, allowed, NUM_STEPS=4, **values)
        return results.read(workdir)["metrics"]["loss"]

    before = results.read(finished)["metrics"]["loss"]
    same = loss(further, PEAK_LEARNING_RATE=1e-12)
    assert same == pytest.approx(before, rel=1e-5)
    for name in ("merges.txt", "vocabulary.json"):
        old, new = (
            workdir / "preset" / "assets" / "tokenizer" / name
            for workdir in (finished, further)
        )
        assert old.read_text() == new.read_text()
    # Also with an optimizer of the user's own, whatever its arguments.
    own = experiment.directory / "own.gin"
    own.write_text(
        "from tests.reference import recorded_run\n"
        "pretrain.pretrain.build_optimizer = @recorded_run.sgd\n"
    )
    assert loss(experiment.directory / "more", str(own)) < same
    status, errors = tiny_runs.call_main(
        gin_files, further / "x", **settings, VOCABULARY="voc/vocabulary.json"
    )
    assert status == 2
    assert "the preset has its own: leave it out" in errors
