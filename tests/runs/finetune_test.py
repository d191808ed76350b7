"""Fine-tuning through main, in this process and in others."""

import dataclasses
import random
import subprocess
import sys

import keras
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.evaluation import scoring
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.models import task_model
from gpt1_keras.runs import finetune
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import strategy
from tests.reference import kill_run
from tests.reference import predictions_table
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

SHA = "a" * 64
SETTINGS = finetune.FineTuning(
    batch_size=4,
    microbatch_size=None,
    num_epochs=3,
    num_train_examples=None,
    sequence_length=None,
    clip_norm=1.0,
    lm_loss_weight=0.5,
    softmax_over="tokens",
    softmax_chunk=8,
    classifier_dropout=0.1,
    initializer_range=0.02,
    bucket_lengths=(8, 12),
    pool_batches=2,
    evaluation_batch_size=4,
    num_scored_train_examples=5,
    early_evaluation_steps=(1000, 2000),
    dtype="float32",
    batches=finetune.encoded_batches,
)


def changed(**values):
    return dataclasses.replace(SETTINGS, **values)


@pytest.mark.parametrize(
    "steps_per_epoch, expected",
    [
        (80, {80, 160, 240}),
        (1000, {1000, 2000, 3000}),
        (1500, {1000, 1500, 3000, 4500}),
        (12000, {1000, 2000, 12000, 24000, 36000}),
    ],
)
def test_evaluation_steps(steps_per_epoch, expected):
    """At the end of each epoch, and early in the first one."""
    assert SETTINGS.evaluation_steps(steps_per_epoch) == expected


@pytest.mark.parametrize(
    "values, expected",
    [
        ({"batch_size": 6, "microbatch_size": 4}, "`microbatch_size` 4"),
        ({"num_epochs": 1.5}, "`num_epochs` is 1.5: give a whole number"),
        ({"sequence_length": 0}, "`sequence_length` is 0: give .* or None"),
        ({"clip_norm": -1}, "`clip_norm` is -1: give a number"),
        ({"classifier_dropout": 2}, "`classifier_dropout` is 2: give a number"),
        ({"evaluation_batch_size": 0}, "`evaluation_batch_size` is 0"),
        ({"early_evaluation_steps": 9}, "`early_evaluation_steps` is 9: give"),
        ({"bucket_lengths": (8, 0.5)}, "`bucket_lengths` is .8, 0.5.: give"),
        ({"softmax_over": "all"}, "`softmax_over` is 'all'"),
        ({"sequence_length": 13}, "more than the preset's 12 positions"),
    ],
)
def test_wrong_settings(values, expected):
    with pytest.raises(errors.InputError, match=expected):
        settings = changed(**values)
        settings.check(strategy.ONE_DEVICE)
        settings.max_sequence_length(12)


@pytest.mark.parametrize(
    "name, candidates, num_logits, regression",
    [
        ("rte", 1, 2, False),
        ("stsb", 2, 6, False),
        ("stsb", 2, 1, True),
        ("race", 4, 4, False),
    ],
)
def test_network_of_a_task(name, candidates, num_logits, regression):
    task = benchmarks.benchmark(name, regression=regression)
    network = SETTINGS.build_network(
        task, small_models.network(), small_models.byte_pairs()
    )
    outputs = network(
        {
            "token_ids": np.ones((3, candidates, 5), "int32"),
            "extract_position": np.full((3, candidates), 4, "int32"),
        }
    )
    assert tuple(outputs["logits"].shape) == (3, num_logits)
    preprocessor = network.preprocessor
    assert (preprocessor.task, preprocessor.sequence_length) == (name, 12)
    assert preprocessor.is_regression == regression
    assert network.head.dropout == 0.1
    names = ("loss", "task_loss", "lm_loss")
    assert SETTINGS.build_learner(network, task).loss_names == names
    without = changed(lm_loss_weight=0.0, sequence_length=7)
    assert without.build_learner(network, task).loss_names == names[:2]
    assert without.max_sequence_length(12) == 7


def test_texts_become_batches_beforehand_or_on_the_way():
    settings = dict(batch_size=2, seed=0, bucket_lengths=(16,), pool_batches=1)
    train = scoring.Labelled(
        benchmarks.benchmark("cola"),
        [examples_lib.Example("the cat", label="01"[i % 2]) for i in range(5)],
        tokenizer=small_models.byte_pairs(),
        max_sequence_length=12,
        batch_size=2,
        bucket_lengths=(16,),
        name="cola train",
    )
    if keras.config.backend() != "tensorflow":
        with pytest.raises(errors.InputError, match="raw_examples.gin needs"):
            finetune.raw_batches(train, **settings)
    else:
        found = finetune.raw_batches(train, **settings)
        assert train._encoded is None
        dataset = found.dataset(first_step=0, num_steps=1)
        (batch,) = dataset.as_numpy_iterator()
        assert batch["token_ids"].shape == (2, 1, 16)
        assert batch["labels"].shape == (2,)
    found = finetune.encoded_batches(train, **settings)
    assert isinstance(found, example_batches.TrainingExamples)
    assert found.steps_per_epoch == 2
    assert found(0)["token_ids"].shape == (2, 1, 16)


class Runs:
    """A run that writes a known result, and records its calls."""

    values = {1: 0.5, 2: 0.9, 3: 0.6, 4: 0.2}

    def __init__(self):
        self.seeds = []

    def __call__(self, directory, seed):
        self.seeds.append(seed)
        directory.mkdir(exist_ok=True)
        value = self.values[seed]
        return results.write(
            directory,
            run="finetune",
            task="cola",
            split="dev",
            metrics={"matthews": value, "accuracy": 1 - value},
            majority={"matthews": 0.0},
            paper={"matthews": 0.454},
            num_examples=40,
            num_train_examples=160,
            best_step=seed,
            seed=seed,
            config_sha256=SHA,
            seconds=10.0 * seed,
        )


def test_median_and_range_of_several_seeds(tmp_path):
    runs = Runs()
    path = finetune.run_each(tmp_path, SHA, 42, (1, 2), runs)
    assert path == tmp_path / "result.json"
    # Finished seeds are not run again.
    finetune.run_each(tmp_path, SHA, 42, [1, 2, 3], runs)
    assert runs.seeds == [1, 2, 3]
    found = results.read(tmp_path)
    assert found["metrics"] == {
        "matthews": 0.6,
        "accuracy": pytest.approx(0.4),
    }
    assert found["range"]["matthews"] == [0.5, 0.9]
    assert found["range"]["accuracy"] == pytest.approx([0.1, 0.5])
    of_seeds = {k: v["matthews"] for k, v in found["seeds"].items()}
    assert of_seeds == {"1": 0.5, "2": 0.9, "3": 0.6}
    assert found["seed"] == [1, 2, 3] and found["seconds"] == 60.0
    assert "best_step" not in found  # Each seed has its own.
    for name in ("run", "task", "split", "paper", "majority", "config_sha256"):
        assert found[name] == results.read(tmp_path / "seed_1")[name]
    assert (found["num_examples"], found["num_train_examples"]) == (40, 160)
    # The median of an even number is halfway between the middle two.
    finetune.run_each(tmp_path, SHA, 42, (1, 2, 3, 4), runs)
    assert results.read(tmp_path)["metrics"]["matthews"] == pytest.approx(0.55)
    # Those of another configuration are run again.
    runs = Runs()
    finetune.run_each(tmp_path, "b" * 64, 42, (1, 2), runs)
    assert runs.seeds == [1, 2]


def test_one_seed_and_wrong_seeds(tmp_path):
    runs = Runs()
    path = finetune.run_each(tmp_path, SHA, 3, None, runs)
    assert path == tmp_path / "result.json" and runs.seeds == [3]
    for seeds in ((), (1, 1), (1, 2, 1), 3, "12"):
        with pytest.raises(errors.InputError, match="^`seeds` is .*: give dif"):
            finetune.run_each(tmp_path, SHA, 42, seeds, runs)
    assert runs.seeds == [3]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    directory = tmp_path_factory.mktemp("finetune")
    return tiny_task.Experiment(directory, backend=keras.config.backend())


def run(experiment, workdir, **settings):
    """Call main in this process; return exit status and stderr."""
    return tiny_fine_tuned.call_main(
        experiment.gin_files, workdir, **experiment.settings | settings
    )


@pytest.fixture(scope="module")
def finished(experiment):
    """The workdir of a finished run; tests do not change it."""
    workdir = experiment.directory / "finished"
    status, errors = run(experiment, workdir)
    assert status == 0, errors
    return workdir


def test_learns_the_task(finished):
    found = results.read(finished)
    assert (found["run"], found["task"]) == ("finetune", "cola")
    assert (found["split"], found["num_examples"]) == ("dev", 40)
    assert found["metrics"]["matthews"] > 0.7
    assert found["train_metrics"]["matthews"] > 0.7
    assert found["majority"]["matthews"] == 0.0
    assert found["paper"] == {"matthews": 0.454}
    assert found["num_train_examples"] == 160
    assert found["num_steps"] == tiny_task.NUM_STEPS
    assert found["backbone"] == "GPT1Backbone"
    assert found["num_transferred_layers"] == 2
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
    # Linear decay; the first step moves nothing.
    rates = [line["learning_rate"] for line in training]
    assert rates[1] == pytest.approx(1e-2 * (1 - 1 / 60))
    assert rates[59] == pytest.approx(1e-2 * (1 - 59 / 60))


def test_preset_is_the_best_model_on_dev(experiment, finished):
    """Its predictions, from raw strings, give the metric of the result."""
    found = results.read(finished)
    best = max(
        (x for x in kill_run.lines(finished) if x.get("split") == "dev"),
        key=lambda line: line["matthews"],
    )
    assert found["best_step"] == best["step"]
    assert found["metrics"]["matthews"] == best["matthews"]
    model = task_model.GPT1TaskModel.from_preset(str(finished / "preset"))
    rows = glue.read_cola(experiment.directory / "data", "dev")
    inputs = model.preprocessor([row.text for row in rows])
    logits = model.predict(inputs, verbose=0)
    names = np.array(model.preprocessor.label_words)[logits.argmax(-1)]
    assert np.mean(names == [row.label for row in rows]) == pytest.approx(
        found["metrics"]["accuracy"]
    )
    special = model.backbone.token_and_position_embedding.special_embeddings
    assert special.shape[0] == 3
    assert 0.01 < np.std(small_models.read(special.value)) < 0.5


def write_scitail(folder, splits):
    """Write rows that say whether a sentence ends in the garden."""
    draws = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        rows = [tiny_task.sentence(draws) for _ in range(16)]
        lines = [
            f"{text}\tnear our garden\t{('neutral', 'entails')[int(label)]}\n"
            for text, label in rows
        ]
        (folder / f"scitail_1.0_{split}.tsv").write_text("".join(lines))


def test_kept_weights_are_scored_on_a_labelled_test_once(
    experiment, tmp_path, monkeypatch, caplog
):
    scored, score = [], finetune._score_test
    monkeypatch.setattr(
        finetune, "_score_test", lambda *a: scored.append(a[2]) or score(*a)
    )
    settings = {"DATA_DIR": str(tmp_path / "data"), "NUM_EPOCHS": 2}
    settings = experiment.settings | settings

    def fine_tune(name, **more):
        arguments = ("gin/finetune/scitail.gin", tmp_path / name)
        status, said = tiny_fine_tuned.call_main(*arguments, **settings | more)
        assert status == 0, said
        return results.read(tmp_path / name)

    folder = tmp_path / "data/scitail"
    write_scitail(folder, ("train", "dev"))
    assert "test" not in fine_tune("without") and scored == []
    assert "scitail will not be scored on test: " in caplog.text
    write_scitail(folder, ("train", "dev", "test"))
    found = fine_tune("several", SEEDS=(1, 2))
    names = [f"several/seed_{seed}/preset" for seed in (1, 2)]
    assert scored == [tmp_path / name for name in names]
    accuracies = []
    rows = nli.read_scitail(tmp_path / "data", "test")
    inputs = {k: [getattr(r, k) for r in rows] for k in ("text", "text_pair")}
    for path in scored:
        model = task_model.GPT1TaskModel.from_preset(str(path))
        logits = model.predict(model.preprocessor(inputs), verbose=0)
        guesses = np.array(model.preprocessor.label_words)[logits.argmax(-1)]
        accuracies.append(np.mean(guesses == [row.label for row in rows]))
        test = results.read(path.parent)["test"]
        assert test["num_examples"] == 16
        assert test["metrics"] == {"accuracy": pytest.approx(accuracies[-1])}
    assert found["split"] == "dev"
    median = pytest.approx(np.mean(accuracies))
    assert found["test"] == {
        "metrics": {"accuracy": median},
        "num_examples": 16,
    }
    assert fine_tune("several", SEEDS=(1, 2)) == found
    assert len(scored) == 2


def test_preset_is_the_first_of_equals(experiment, tmp_path, monkeypatch):
    saved, save = [], presets.save
    monkeypatch.setattr(
        presets, "save", lambda *given: saved.append(save(*given))
    )
    status, errors = run(
        experiment, tmp_path, PEAK_LEARNING_RATE=1e-9, NUM_EPOCHS=1
    )
    assert status == 0, errors
    lines = kill_run.lines(tmp_path)
    dev = [line for line in lines if line.get("split") == "dev"]
    assert dev[0]["matthews"] == dev[1]["matthews"]
    assert results.read(tmp_path)["best_step"] == dev[0]["step"]
    assert len(saved) == 1


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


@pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="a graph of TensorFlow"
)
def test_texts_tokenised_on_the_way(experiment, finished, tmp_path):
    status, errors = tiny_fine_tuned.call_main(
        ("gin/finetune/cola.gin", "gin/data/raw_examples.gin"),
        tmp_path,
        **experiment.settings,
    )
    assert status == 0, errors
    found, encoded = results.read(tmp_path), results.read(finished)
    assert found["num_steps"] == encoded["num_steps"]
    assert found["metrics"]["matthews"] > 0.7
    assert found["config_sha256"] != encoded["config_sha256"]


def test_ablations_and_several_seeds(experiment, finished, tmp_path):
    """A part of the examples, no pretraining, no auxiliary loss."""
    settings = {
        "LM_LOSS_WEIGHT": 0.0,
        "NUM_TRANSFERRED_LAYERS": -1,
        "NUM_TRAIN_EXAMPLES": 24,
        "NUM_EPOCHS": 1,
        "SEEDS": (1, 2),
    }
    status, errors = run(experiment, tmp_path, **settings)
    assert status == 0, errors
    found = results.read(tmp_path)
    assert found["num_train_examples"] == 24 and found["num_steps"] == 3
    assert found["num_transferred_layers"] == -1 and found["seed"] == [1, 2]
    firsts = [
        next(
            line
            for line in kill_run.lines(tmp_path / f"seed_{seed}")
            if "gradient_norm" in line
        )
        for seed in (1, 2)
    ]
    assert firsts[0]["loss"] != firsts[1]["loss"]
    for line in firsts:
        assert line["loss"] == line["task_loss"]
        assert "lm_loss" not in line and "perplexity" not in line


def test_lstm_learns_and_is_evaluated_and_measured(experiment, tmp_path):
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
    lstm = str(tmp_path / "lstm")
    status, errors = run(experiment, tmp_path / "cola", PRESET=lstm)
    assert status == 0, errors
    learned = results.read(tmp_path / "cola")
    assert learned["backbone"] == "LSTMBackbone"
    assert learned["metrics"]["matthews"] > 0.7
    data = {"DATA_DIR": str(experiment.directory / "data")}
    for gin_file, workdir, preset in (
        ("gin/evaluate.gin", tmp_path / "dev", str(tmp_path / "cola")),
        ("gin/zero_shot/cola.gin", tmp_path / "zero_shot", lstm),
    ):
        status, errors = tiny_fine_tuned.call_main(
            gin_file, workdir, PRESET=preset, **data
        )
        assert status == 0, errors
    scored = results.read(tmp_path / "dev")
    assert scored["metrics"] == pytest.approx(learned["metrics"])
    assert not (tmp_path / "dev" / "tokens.html").exists()


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


def run_own(folder):
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
            "finetune.FineTuning.bucket_lengths": (16, 32),
        },
    )


def score_own(folder, workdir, file):
    """Evaluate on a file with the usual column names."""
    return tiny_fine_tuned.call_main(
        "gin/evaluate_custom.gin",
        workdir,
        PRESET=str(folder / "run"),
        TEST_FILE=str(file),
    )


def test_own_rows(own, tmp_path):
    found = results.read(own / "run")
    assert found["task"] == "custom" and found["paper"] == {}
    assert found["num_train_examples"] + found["num_examples"] == 160
    assert 8 <= found["num_examples"] <= 24
    assert found["metrics"]["accuracy"] > found["majority"]["accuracy"]
    # The held-out rows are written, and score as they did.
    status, errors = score_own(own, tmp_path, own / "run" / "dev.jsonl")
    assert status == 0, errors
    again = results.read(tmp_path)
    assert again["metrics"] == pytest.approx(found["metrics"])
    assert again["num_examples"] == found["num_examples"]
    # A file that has changed is not taken for the old one.
    content = (own / "my.csv").read_text()
    (own / "my.csv").write_text(content + "the old garden,b\n")
    status, errors = run_own(own)
    assert status == 2 and "examples have changed since" in errors
    (own / "my.csv").write_text(content)
    status, errors = run_own(own)
    assert status == 0, errors


def test_own_rows_without_labels_and_with_wrong_ones(own, tmp_path):
    file = tmp_path / "new.jsonl"
    file.write_text('{"text": "the garden"}\n{"text": "a tall harbour"}\n')
    status, errors = score_own(own, tmp_path / "out", file)
    assert status == 0, errors
    assert results.read(tmp_path / "out")["metrics"] == {}
    table = predictions_table.read(tmp_path / "out" / "predictions.tsv")
    assert [list(row["probabilities"]) for row in table] == [["b", "g"]] * 2
    file.write_text('{"text": "the garden", "label": "h"}\n')
    status, errors = score_own(own, tmp_path / "other", file)
    assert status == 2
    assert "new.jsonl line 1 has label 'h'" in errors
    # The same command reads the corrected file again.
    file.write_text('{"text": "the garden", "label": "g"}\n')
    status, errors = score_own(own, tmp_path / "out", file)
    assert status == 0, errors
    assert set(results.read(tmp_path / "out")["metrics"]) == {"accuracy"}


MISTAKES = [
    ({"benchmarks.benchmark.name": "kola"}, "did you mean 'cola'"),
    ({"benchmarks.benchmark.name": "rte"}, "RTE"),
    ({"PRESET": "nowhere"}, "PRESET: nowhere does not exist"),
    ({"NUM_TRANSFERRED_LAYERS": 3}, "the preset has 2 layers"),
    ({"SEQUENCE_LENGTH": 33}, "SEQUENCE_LENGTH 33 is more than the preset's"),
    ({"BATCH_SIZE": 162, "MICROBATCH_SIZE": None}, "160 training"),
    ({"NUM_EPOCHS": 0}, "NUM_EPOCHS is 0"),
    ({"SEEDS": (1, 1)}, "SEEDS is (1, 1): give different whole numbers"),
    ({"NUM_TRAIN_EXAMPLES": 0}, "NUM_TRAIN_EXAMPLES is 0"),
]


def test_mistakes_end_in_one_line(experiment, tmp_path):
    for settings, expected in MISTAKES:
        workdir = tmp_path / "run"
        status, errors = run(experiment, workdir, **settings)
        assert status == 2, errors
        last = errors.strip().split("\n")[-1]
        assert last.startswith("error: ") and expected in last
        assert "Traceback" not in errors
        assert not (workdir / "result.json").exists()


def test_does_not_resume_on_other_examples(tmp_path):
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


def test_killed_run_ends_with_the_same_weights(experiment):
    # Both in processes of their own: what ran before in this one may change
    # how XLA shares sums among threads, and so their last bits.
    undisturbed = experiment.directory / "undisturbed"
    status, output = experiment.finish(undisturbed, NUM_EPOCHS=1)
    assert status == 0, output
    killed = experiment.directory / "killed"
    experiment.settings["NUM_EPOCHS"] = 1
    killed_at = experiment.kill_and_finish(killed, kills=1, seed=0)
    experiment.settings["NUM_EPOCHS"] = 3
    assert len(killed_at) == 1
    assert kill_run.differences(undisturbed, killed) == []


@pytest.mark.slow
def test_replicas_learn_what_one_device_learns(experiment, tmp_path):
    """Dropout off; the last batch of dev is incomplete."""
    strategies = {"tensorflow": "mirrored", "jax": "data_parallel"}
    backend = keras.config.backend()
    if backend not in strategies:
        pytest.skip("single device only")
    found = []
    for name, count in (("none", 1), (strategies[backend], 2)):
        workdir = tmp_path / name
        experiment.environment["XLA_FLAGS"] = (
            f"--xla_force_host_platform_device_count={count}"
        )
        status, output = experiment.finish(
            workdir,
            STRATEGY=name,
            DROPOUT=0.0,
            NUM_EPOCHS=1,
            **{
                "strategy.Devices.num_replicas": count,
                "finetune.FineTuning.classifier_dropout": 0.0,
                "finetune.FineTuning.evaluation_batch_size": 12,
            },
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
