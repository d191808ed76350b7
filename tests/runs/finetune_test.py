"""Fine-tuning through `gpt1_keras.main`, in this process and in others."""

import contextlib
import io
import random
import subprocess
import sys

import gin
import keras
import numpy as np
import pytest

from gpt1_keras import main
from gpt1_keras import results
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import predictions
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    directory = tmp_path_factory.mktemp("finetune")
    return tiny_task.Experiment(directory, backend=keras.config.backend())


def run(experiment, workdir, **settings):
    """Call main in this process; return exit status and stderr."""
    arguments = experiment.command(workdir, **settings)[3:]
    errors = io.StringIO()
    policy = keras.config.dtype_policy()
    try:
        with contextlib.redirect_stderr(errors):
            status = main.main(arguments)
    finally:
        gin.clear_config()
        keras.config.set_dtype_policy(policy)
    return status, errors.getvalue()


@pytest.fixture(scope="module")
def finished(experiment):
    """The workdir of a finished run; tests do not change it."""
    workdir = experiment.directory / "finished"
    status, errors = run(experiment, workdir)
    assert status == 0, errors
    return workdir


def test_learns_the_task(finished):
    found = results.read(finished)
    assert (found["run"], found["task"], found["split"]) == (
        *("finetune", "cola"),
        "dev",
    )
    assert found["metrics"]["matthews"] > 0.7
    assert found["majority"]["matthews"] == 0.0
    assert found["paper"] == {"matthews": 0.454}
    assert (found["num_train_examples"], found["num_examples"]) == (160, 40)
    assert found["num_steps"] == tiny_task.NUM_STEPS
    assert found["train_metrics"]["matthews"] > 0.7
    assert (found["backbone"], found["num_transferred_layers"]) == (
        *("GPT1Backbone",),
        2,
    )
    assert found["lm_loss_weight"] == 0.5


def test_evaluates_each_epoch_and_early(finished):
    lines = kill_run.lines(finished)
    dev = [line["step"] for line in lines if line.get("split") == "dev"]
    assert dev == [4, 20, 40, 60]
    training = [line for line in lines if "gradient_norm" in line]
    assert len(training) == tiny_task.NUM_STEPS
    for line in training:
        assert line["loss"] == pytest.approx(
            line["task_loss"] + 0.5 * line["lm_loss"], rel=1e-5
        )
        assert line["perplexity"] == pytest.approx(np.exp(line["lm_loss"]))
    # Linear decay; the first update moves nothing (spec of the schedule).
    rates = [line["learning_rate"] for line in training]
    assert rates[1] == pytest.approx(1e-2 * (1 - 1 / 60))
    assert rates[59] == pytest.approx(1e-2 * (1 - 59 / 60))


def test_preset_is_the_best_model_on_dev(experiment, finished):
    """Its predictions, from raw strings, give the metric of the result."""
    found = results.read(finished)
    lines = kill_run.lines(finished)
    best = max(
        (line for line in lines if line.get("split") == "dev"),
        key=lambda line: line["matthews"],
    )
    assert found["best_step"] == best["step"]
    model = task_model.GPT1TaskModel.from_preset(str(finished / "preset"))
    rows = glue.read_cola(experiment.directory / "data", "dev")
    inputs = model.preprocessor([row.text for row in rows])
    logits = model.predict(inputs, verbose=0)
    words = np.array(model.preprocessor.label_words)[logits.argmax(-1)]
    accuracy = np.mean([w == r.label for w, r in zip(words, rows, strict=True)])
    assert accuracy == pytest.approx(found["metrics"]["accuracy"])


def test_preset_loads_where_only_the_models_are_imported(finished):
    """In a process that has imported nothing else of the program."""
    program = (
        "from gpt1_keras import models\n"
        "model = models.GPT1TaskModel.from_preset"
        f"({str(finished / 'preset')!r})\n"
        "inputs = model.preprocessor(['the old captain', 'our garden'])\n"
        "print(model.predict(inputs, verbose=0).shape)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=kill_run.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.stdout == "(2, 2)\n", found.stderr


def test_special_rows_are_drawn_and_saved(experiment, finished):
    model = task_model.GPT1TaskModel.from_preset(str(finished / "preset"))
    rows = model.backbone.token_and_position_embedding.special_embeddings
    assert rows.shape[0] == 3
    assert 0.01 < np.std(keras.ops.convert_to_numpy(rows)) < 0.5


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder with my.csv, a preset, and what was fine-tuned on them."""
    folder = tmp_path_factory.mktemp("own")
    tiny_task.write_preset(folder / "preset")
    draws = random.Random(3)
    rows = [tiny_task.sentence(draws) for _ in range(160)]
    (folder / "my.csv").write_text(
        "review,stars\n" + "".join(f"{t},{'bg'[int(w)]}\n" for t, w in rows)
    )
    status, errors = run_own(folder)
    assert status == 0, errors
    return folder


def run_own(folder, **settings):
    return tiny_fine_tuned.call_main(
        "gin/finetune/custom.gin",
        folder / "run",
        **{
            "TRAIN_FILE": str(folder / "my.csv"),
            "PRESET": str(folder / "preset"),
            "TEXT_COLUMN": "review",
            "LABEL_COLUMN": "stars",
            "SEQUENCE_LENGTH": 32,
            "BATCH_SIZE": 8,
            "NUM_EPOCHS": 4,
            "PEAK_LEARNING_RATE": 1e-2,
            "recipe.FineTuning.bucket_lengths": (16, 32),
        }
        | settings,
    )


def score_own(folder, workdir, file, **settings):
    """Evaluate what was fine-tuned on a file; the columns have plain names."""
    return tiny_fine_tuned.call_main(
        "gin/evaluate_custom.gin",
        workdir,
        **{"PRESET": str(folder / "run"), "TEST_FILE": str(file)} | settings,
    )


def test_own_file_one_command_a_model(own, tmp_path):
    found = results.read(own / "run")
    assert found["task"] == "custom" and found["paper"] == {}
    assert found["num_train_examples"] + found["num_examples"] == 160
    assert 8 <= found["num_examples"] <= 24
    assert found["metrics"]["accuracy"] > found["majority"]["accuracy"]
    # The rows held out are there to look at, and score as they did.
    status, errors = score_own(own, tmp_path, own / "run" / "dev.jsonl")
    assert status == 0, errors
    again = results.read(tmp_path)
    assert again["metrics"] == pytest.approx(found["metrics"])
    assert again["num_examples"] == found["num_examples"]
    assert (tmp_path / "plots" / "confusion.png").exists()


def test_own_rows_without_labels_and_with_wrong_ones(own, tmp_path):
    file = tmp_path / "new.jsonl"
    file.write_text('{"text": "the garden"}\n{"text": "a tall harbour"}\n')
    status, errors = score_own(own, tmp_path / "out", file)
    assert status == 0, errors
    assert results.read(tmp_path / "out")["metrics"] == {}
    table = predictions.read(tmp_path / "out" / "predictions.tsv")
    assert [list(row["probabilities"]) for row in table] == [["b", "g"]] * 2
    file.write_text('{"text": "the garden", "label": "h"}\n')
    status, errors = score_own(own, tmp_path / "other", file)
    assert status == 2
    assert "new.jsonl line 1 has label 'h'" in errors
    # The same command looks at the mended file again.
    file.write_text('{"text": "the garden", "label": "g"}\n')
    status, errors = score_own(own, tmp_path / "out", file)
    assert status == 0, errors
    assert set(results.read(tmp_path / "out")["metrics"]) == {"accuracy"}


def test_own_file_that_changed_after_the_end(own):
    content = (own / "my.csv").read_text()
    (own / "my.csv").write_text(content + "the old garden,b\n")
    status, errors = run_own(own)
    (own / "my.csv").write_text(content)
    assert status == 2
    assert "examples have changed since" in errors
    status, errors = run_own(own)
    assert status == 0, errors


@pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="a graph of TensorFlow"
)
def test_texts_tokenised_on_the_way(finished, tmp_path):
    class Raw(tiny_task.Experiment):
        gin_files = ("gin/finetune/cola.gin", "gin/data/raw_examples.gin")

    experiment = Raw(tmp_path, backend="tensorflow")
    status, errors = run(experiment, tmp_path / "run")
    assert status == 0, errors
    found, encoded = results.read(tmp_path / "run"), results.read(finished)
    assert found["num_steps"] == encoded["num_steps"]
    assert found["metrics"]["matthews"] > 0.8
    assert found["config_sha256"] != encoded["config_sha256"]


def test_without_the_language_model_loss(experiment, tmp_path):
    status, errors = run(experiment, tmp_path, LM_LOSS_WEIGHT=0.0, NUM_EPOCHS=1)
    assert status == 0, errors
    line = next(x for x in kill_run.lines(tmp_path) if "gradient_norm" in x)
    assert line["loss"] == line["task_loss"]
    assert "lm_loss" not in line and "perplexity" not in line


def test_without_pretraining(experiment, finished, tmp_path):
    status, errors = run(
        experiment, tmp_path, NUM_TRANSFERRED_LAYERS=-1, NUM_EPOCHS=1
    )
    assert status == 0, errors
    # What is transferred is the matter of tests/models/transfer_test.py.
    first = kill_run.lines(tmp_path)[0]
    assert first["lm_loss"] != kill_run.lines(finished)[0]["lm_loss"]


def test_an_lstm_learns_is_scored_and_probed(experiment, tmp_path):
    """From its preset on, the baseline passes through the same runs."""
    like = causal_lm.GPT1CausalLM.from_preset(
        str(experiment.directory / "preset")
    )
    tokenizer = like.preprocessor.tokenizer.pipeline
    network = small_models.lstm_network(
        vocabulary_size=tokenizer.vocabulary_size, max_sequence_length=32
    )
    model = builders.gpt1_causal_lm(network, tokenizer)
    presets.save(model, tmp_path / "lstm" / "preset")
    lstm = {"PRESET": str(tmp_path / "lstm")}
    status, errors = run(experiment, tmp_path / "cola", **lstm)
    assert status == 0, errors
    learnt = results.read(tmp_path / "cola")
    assert learnt["backbone"] == "LSTMBackbone"
    assert learnt["metrics"]["matthews"] > 0.7
    data = {"DATA_DIR": str(experiment.directory / "data")}
    for gin_file, workdir, preset in (
        ("gin/evaluate.gin", tmp_path / "dev", str(tmp_path / "cola")),
        ("gin/zero_shot/cola.gin", tmp_path / "probe", lstm["PRESET"]),
    ):
        status, errors = tiny_fine_tuned.call_main(
            gin_file, workdir, PRESET=preset, **data
        )
        assert status == 0, errors
    scored = results.read(tmp_path / "dev")
    assert scored["metrics"] == pytest.approx(learnt["metrics"])
    assert not (tmp_path / "dev" / "tokens.html").exists()


def test_several_seeds(experiment, tmp_path):
    status, errors = run(experiment, tmp_path, SEEDS=(1, 2, 3), NUM_EPOCHS=1)
    assert status == 0, errors
    each = [results.read(tmp_path / f"seed_{n}") for n in (1, 2, 3)]
    found = results.read(tmp_path)
    values = [one["metrics"]["accuracy"] for one in each]
    assert found["metrics"]["accuracy"] == sorted(values)[1]
    assert found["range"]["accuracy"] == [min(values), max(values)]
    assert found["seed"] == [1, 2, 3]
    assert [one["seed"] for one in each] == [1, 2, 3]
    # Another seed is another run.
    firsts = {kill_run.lines(tmp_path / f"seed_{n}")[0]["loss"] for n in (1, 2)}
    assert len(firsts) == 2
    # One of them is done again, the others are not touched.
    before = (tmp_path / "seed_1" / "result.json").stat().st_mtime_ns
    (tmp_path / "result.json").unlink()
    (tmp_path / "seed_2" / "result.json").unlink()
    status, errors = run(experiment, tmp_path, SEEDS=(1, 2, 3), NUM_EPOCHS=1)
    assert status == 0, errors
    assert (tmp_path / "seed_1" / "result.json").stat().st_mtime_ns == before
    assert results.read(tmp_path)["metrics"] == found["metrics"]


def test_part_of_the_training_examples(experiment, tmp_path):
    status, errors = run(
        experiment, tmp_path, NUM_TRAIN_EXAMPLES=12, NUM_EPOCHS=1
    )
    assert status == 0, errors
    assert results.read(tmp_path)["num_train_examples"] == 12
    assert results.read(tmp_path)["num_steps"] == 1


@pytest.mark.parametrize(
    "settings, expected",
    [
        (
            {"benchmarks.benchmark.name": "kola"},
            "no benchmark 'kola': did you mean 'cola'",
        ),
        ({"benchmarks.benchmark.name": "rte"}, "RTE"),
        ({"PRESET": "nowhere"}, "PRESET nowhere does not exist"),
        ({"NUM_TRANSFERRED_LAYERS": 3}, "the preset has 2 layers"),
        ({"SEQUENCE_LENGTH": 33}, "more than the preset's 32 positions"),
        ({"BATCH_SIZE": 162, "MICROBATCH_SIZE": None}, "160 training"),
        ({"NUM_EPOCHS": 0}, "NUM_EPOCHS is 0"),
        (
            {"recipe.FineTuning.softmax_over": "words"},
            "SOFTMAX_OVER is 'words'",
        ),
        ({"SEEDS": (1, 1)}, "give different whole numbers"),
        ({"NUM_TRAIN_EXAMPLES": 0}, "NUM_TRAIN_EXAMPLES is 0"),
    ],
)
def test_mistakes_end_in_one_line(experiment, tmp_path, settings, expected):
    workdir = tmp_path / "run"
    status, errors = run(experiment, workdir, **settings)
    assert status == 2
    last = errors.strip().split("\n")[-1]
    assert last.startswith("error: ") and expected in last
    assert "Traceback" not in errors
    assert not (workdir / "result.json").exists()


def test_does_not_continue_on_other_examples(tmp_path):
    experiment = tiny_task.Experiment(tmp_path, backend=keras.config.backend())
    workdir = tmp_path / "run"
    assert run(experiment, workdir, NUM_EPOCHS=1)[0] == 0
    (workdir / "result.json").unlink()
    with open(tmp_path / "data/glue/CoLA/dev.tsv", "a") as file:
        file.write("x\t1\t\tone more\n")
    status, errors = run(experiment, workdir, NUM_EPOCHS=1)
    assert status == 2
    last = errors.strip().split("\n")[-1]
    assert last.startswith("error: the dev examples have changed"), last
    assert not (workdir / "result.json").exists()


def test_a_killed_run_ends_with_the_same_weights(experiment):
    # In a process of its own, too: what ran before in this one may change how
    # XLA shares sums among threads, and so their last bits.
    finished = experiment.directory / "undisturbed"
    status, errors = experiment.finish(finished)
    assert status == 0, errors
    killed = experiment.directory / "killed"
    killed_at = experiment.kill_and_finish(killed, kills=2, seed=0)
    assert len(killed_at) == 2
    assert kill_run.differences(finished, killed) == []
    ours, theirs = (
        (workdir / "preset" / "task.weights.h5").read_bytes()
        for workdir in (finished, killed)
    )
    assert len(ours) == len(theirs)


@pytest.mark.slow
def test_replicas_learn_what_one_device_learns(experiment, tmp_path):
    """Dropout off; the last batch of dev is incomplete."""
    strategies = {"tensorflow": "mirrored", "jax": "data_parallel"}
    backend = keras.config.backend()
    if backend not in strategies:
        pytest.skip("one device only")
    found = []
    for name, count in (("none", 1), (strategies[backend], 2)):
        workdir = tmp_path / name
        experiment.environment["XLA_FLAGS"] = (
            f"--xla_force_host_platform_device_count={count}"
        )
        status, output = experiment.finish(
            workdir,
            STRATEGY=name,
            **{"strategy.Devices.num_replicas": count},
            DROPOUT=0.0,
            **{"recipe.FineTuning.classifier_dropout": 0.0},
            NUM_EPOCHS=1,
            **{"recipe.FineTuning.evaluation_batch_size": 12},
        )
        assert status == 0, output
        found.append(kill_run.lines(workdir))
    one, two = found
    assert len(one) == len(two) > 20
    for ours, theirs in zip(one, two):
        assert ours.keys() == theirs.keys()
        for name in ("loss", "task_loss", "lm_loss", "gradient_norm"):
            if name in ours:
                assert theirs[name] == pytest.approx(ours[name], rel=1e-4)
        for name in ("matthews", "accuracy"):
            assert theirs.get(name) == ours.get(name)
