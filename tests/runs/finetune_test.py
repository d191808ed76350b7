import functools
import io
import json
import random
import shutil
import sys
import types
from unittest import mock

import gin
import numpy as np
import pytest

from gpt1_keras import config
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import word_baselines
from gpt1_keras.models import causal_lm
from gpt1_keras.models import task_model
from gpt1_keras.runs import finetune
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib
from gpt1_keras.training import fit
from gpt1_keras.training import strategy
from tests.reference import data_files
from tests.reference import fake_workdirs
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_runs
from tests.reference import tiny_task


@pytest.fixture
def fine_tune(tiny, preset, tmp_path):
    """Fine-tune in a folder of `tmp_path`, on tiny CoLA if nothing is said."""

    def run(name, data=tiny.data, **settings):
        return tiny_runs.finetune(tmp_path / name, preset, data, **settings)

    return run


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    return tiny_task.Experiment(tmp_path_factory.mktemp("finetune"))


@pytest.fixture(scope="module")
def finished(experiment):
    """The workdir of a run that main finished; tests do not change it."""
    workdir = experiment.directory / "finished"
    tiny_runs.succeed(experiment.gin_files, workdir, **experiment.settings)
    return workdir


def test_learns_the_task(finished, tmp_path):
    found = results.read(finished)
    expected = {
        **{"run": "finetune", "task": "cola", "split": "dev"},
        **{"num_examples": 40, "num_train_examples": 160},
        **{"num_steps": tiny_task.NUM_STEPS, "backbone": "GPT1Backbone"},
        **{"num_transferred_layers": 1, "lm_loss_weight": 0.5},
        "paper": {"matthews": 0.454},
    }
    assert {name: found[name] for name in expected} == expected
    shutil.copy(results.path(finished), tmp_path)
    assert comparison.read(tmp_path).row == "full"  # result.json is enough
    assert found["metrics"]["matthews"] > 0.5
    assert found["train_metrics"]["matthews"] > 0.7
    assert found["majority"]["matthews"] == 0.0
    lines = kill_run.lines(finished)
    dev = kill_run.lines(finished, "dev")
    assert [line["step"] for line in dev] == [4, 20, 40, 60]
    training = [line for line in lines if "gradient_norm" in line]
    for line in training:
        assert line["perplexity"] == pytest.approx(np.exp(line["lm_loss"]))
    picture = finished / "plots" / "learning_curve.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    # Linear decay; the first step moves nothing.
    rates = [line["learning_rate"] for line in training]
    assert rates[1] == pytest.approx(1e-2 * (1 - 1 / 60))
    assert rates[59] == pytest.approx(1e-2 * (1 - 59 / 60))


def answer(preset, rows, *texts):
    """Return the model of a preset and its accuracy on raw strings."""
    model = task_model.GPT1TaskModel.from_preset(str(preset))
    inputs = {name: [getattr(row, name) for row in rows] for name in texts}
    logits = model.predict(model.preprocessor(inputs), verbose=0)
    guesses = np.array(model.preprocessor.label_words)[logits.argmax(-1)]
    correct = np.mean(guesses == [row.label for row in rows])
    return model, pytest.approx(correct)


def test_preset_is_the_best_model_on_dev(experiment, finished):
    """Its predictions, from raw strings, give the metric of the result."""
    found = results.read(finished)
    dev = kill_run.lines(finished, "dev")
    best = max(dev, key=lambda line: line["matthews"])
    assert found["best_step"] == best["step"]
    assert found["metrics"]["matthews"] == best["matthews"]
    facts = json.loads((finished / "preset" / "checksums.json").read_text())
    assert facts["step"] == best["step"]
    assert facts["metrics"] == found["metrics"]
    rows = glue.read_cola(experiment.directory / "data", "dev")
    model, accuracy = answer(finished / "preset", rows, "text")
    assert accuracy == found["metrics"]["accuracy"]
    special = model.backbone.token_and_position_embedding.special_embeddings
    assert special.shape[0] == 3


def test_result_is_that_of_the_best_step(tmp_path):
    pairs = (0.5, 0.625), (0.75, 0.875), (0.25, 0.375)
    lines = fake_workdirs.evaluations("f1", *pairs, step=1)
    path = data_files.write(tmp_path, "metrics.jsonl", lines)
    dev = types.SimpleNamespace(majority=lambda: {"f1": 0.0})
    expected = {
        **{"metrics": {"f1": 0.75}, "train_metrics": {"f1": 0.875}},
        **{"majority": {"f1": 0.0}, "best_step": 2},
    }
    measured = functools.partial(finetune._measured, path, dev)
    assert measured(3, keeps_last=False, can_stop=False) == expected
    for steps, text in ((4, path.read_text()), (3, "")):
        path.write_text(text)
        with pytest.raises(errors.InputError, match="lacks evaluations"):
            measured(steps, keeps_last=False, can_stop=False)


def test_result_of_several_seeds_is_their_median(tmp_path):
    scores = {"3": 1.0, "4": 0.5, "5": 0.25, "6": 0.5, "7": 0.0}
    found = [
        {
            **{"run": "finetune", "task": "x", "split": "dev", "best_step": 7},
            **{"seed": int(seed), "seconds": 1.5, "metrics": {"f1": f1}},
            "test": {"metrics": {"f1": f1 / 2}},
        }
        for seed, f1 in scores.items()
    ]
    result = json.loads(finetune._aggregate(tmp_path, found).read_text())
    assert result["metrics"] == {"f1": 0.5} and result["seconds"] == 7.5
    assert result["range"] == {"f1": [0, 1]} and "best_step" not in result
    assert result["seeds"] == {seed: {"f1": scores[seed]} for seed in scores}
    assert result["test"] == {"metrics": {"f1": 0.25}}


class Pairs:
    """Whether a sentence ends in the garden."""

    def read(self, task, split):
        draws = random.Random(split)
        rows = [tiny_task.sentence(draws) for _ in range(16)]
        labels = ["neutral", "entails"]
        return [
            examples.Example(text, "near our garden", label=labels[int(label)])
            for text, label in rows
        ]


def test_kept_weights_are_scored_on_a_labelled_test_once(
    fine_tune, tmp_path, monkeypatch
):
    scored, score = [], finetune._score_test
    monkeypatch.setattr(
        finetune, "_score_test", lambda *a: scored.append(a[2]) or score(*a)
    )
    settings = {"task": "scitail", "seeds": (1, 2)}
    found = fine_tune("several", Pairs(), **settings)
    names = [f"several/seed_{seed}/preset" for seed in (1, 2)]
    assert scored == [tmp_path / name for name in names]
    accuracies = []
    rows = Pairs().read("scitail", "test")
    for path in scored:
        _, accuracy = answer(path, rows, "text", "text_pair")
        test = results.read(path.parent)["test"]
        assert test == {"metrics": {"accuracy": accuracy}, "num_examples": 16}
        accuracies.append(test["metrics"]["accuracy"])
    assert found["split"] == "dev"
    metrics = {"accuracy": pytest.approx(np.mean(accuracies))}
    assert found["test"] == {"metrics": metrics, "num_examples": 16}
    assert fine_tune("several", Pairs(), **settings) == found
    assert len(scored) == 2


def test_the_preset_is_that_of_the_checkpoint(finished, tmp_path):
    workdir = shutil.copytree(finished, tmp_path / "again")
    config = workdir / "config.gin"
    before = data_files.contents(finished / "preset")
    # As an evaluation leaves it that lies behind the last checkpoint.
    files.seal(workdir / "preset", step=59)
    tiny_runs.succeed(str(config), workdir)
    assert data_files.contents(workdir / "preset") == before
    assert config.read_bytes() == (finished / "config.gin").read_bytes()
    assert kill_run.differences(finished, workdir) == []
    # A resumed run forgets the preset of steps that are lost, also where these
    # are not what they were, as on another machine.
    (workdir / "result.json").unlink()
    shutil.rmtree(workdir / "checkpoints" / "00000060")
    kept = workdir / "checkpoints" / "00000057" / "preset"
    expected = json.loads((kept / "checksums.json").read_text())["step"]
    assert expected <= 57
    files.seal(workdir / "preset", step=60)
    tiny_runs.succeed(str(config), workdir)
    assert kill_run.differences(finished, workdir) == []


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "float32"])
def test_every_dial_reaches_the_training(fine_tune, monkeypatch, dtype):
    """Each seed clears Keras's session, and the dtype policy with it."""
    begun = mock.Mock(side_effect=errors.Stopped("begun"))
    monkeypatch.setattr(fit, "fit", begun)
    settings = {"seed": 7, "clip_norm": 0.25, "lm_loss_weight": 0.75}
    settings |= {"classifier_dropout": 0.2, "softmax_over": "released"}
    with pytest.raises(errors.Stopped):
        fine_tune("run", dtype=dtype, **settings)
    (learner, batches), _ = begun.call_args
    network, loss = learner.network, learner.loss_function
    block = network.backbone.decoder_blocks[0]
    assert block.compute_dtype == dtype.removeprefix("mixed_")
    assert (batches._seed, learner.clip_norm, loss.lm_weight) == (7, 0.25, 0.75)
    assert network.head.dropout == 0.2
    assert loss.language_model_loss.softmax_over == "released"


class Choices:
    """Documents with three answers; "the garden" is the right one."""

    def read(self, task, split):
        places = ("garden", "harbour", "old gate")
        return [
            examples.Example(
                f"the {places[i % 3]} the {places[(i + 1) % 3]}",
                choices=tuple(f"the {places[(i + k) % 3]}" for k in range(3)),
                label=-i % 3,
            )
            for i in range(16)
        ]


def test_documents_that_choices_share_are_computed_once(fine_tune, tmp_path):
    found, losses = [], []
    settings = {"task": "race", "pool_batches": 1, "num_epochs": 2}
    settings |= {"dropout": 0.0, "classifier_dropout": 0.0}
    for share_prefix in (True, False):
        name, settings["share_prefix"] = str(share_prefix), share_prefix
        found.append(fine_tune(name, Choices(), **settings))
        lines = [x for x in kill_run.lines(tmp_path / name) if "lm_loss" in x]
        losses.append([[x["task_loss"], x["lm_loss"]] for x in lines])
    np.testing.assert_allclose(*losses, atol=1e-4)
    assert losses[0][-1] < losses[0][0]
    for name in ("metrics", "test"):
        assert found[0][name] == found[1][name]


@pytest.mark.parametrize(
    "files, shares",
    [
        (["gin/finetune/race.gin"], True),
        (["gin/suite.gin"], True),
        (["gin/finetune/race.gin", "gin/data/raw_examples.gin"], False),
    ],
)
def test_documents_are_shared_through_gin(preset, files, shares):
    """Gin passes `encoded_batches` in a wrapper of its own."""
    config.resolve(files, [], "out/race")
    training = gin.get_configurable("finetune.FineTuning")()
    pretrained = presets.Pretrained(
        preset=str(preset), num_transferred_layers=None, dropout=0.1
    )
    task = benchmarks.benchmark("race")
    rows = Choices().read(task, "dev")
    found = training.labelled(task, pretrained, rows, "dev")
    assert found.share_prefix == shares


def test_dev_is_scored_after_at_most_20_epochs():
    for epochs, steps in ((20, range(2, 41, 2)), (45, [3, *range(6, 91, 6)])):
        training = tiny_runs.fine_tuning(
            num_epochs=epochs, early_evaluation_steps=(1, 3)
        )
        assert sorted(training.evaluation_steps(2)) == [1, *steps]
    minima = {"min_epochs": 3, "min_steps": 20}
    training = tiny_runs.fine_tuning(num_epochs=None, **minima)
    assert [training.num_steps(n) for n in (2, 10)] == [20, 30]


def test_the_first_of_equals_is_kept_and_patience_ends_a_run(
    fine_tune, tiny, tmp_path
):
    data = shutil.copytree(tiny.data, tmp_path / "data")
    settings = {
        # 20 steps each: three epochs have 45.
        **{"num_epochs": None, "min_epochs": 2, "min_steps": 45},
        **{"rate": 1e-9, "patience": 1, "early_evaluation_steps": (4,)},
        "min_dev_examples": 40,  # as many as there are
    }
    run = functools.partial(fine_tune, data=data, **settings)
    found = run("one")
    assert (found["best_step"], found["stopped_early"]) == (4, 20)
    dev = kill_run.lines(tmp_path / "one", "dev")
    assert [line["step"] for line in dev] == [4, 20]
    assert dev[0]["matthews"] == dev[1]["matthews"]
    assert found["num_steps"] == 60
    # Too few rows to tell epochs apart end no run; the last weights are kept.
    few = run("few", min_dev_examples=41)
    facts = json.loads((tmp_path / "few/preset/checksums.json").read_text())
    assert few["best_step"] == facts["step"] == 60
    assert "stopped_early" not in few
    # Where the run had ended, and shortly before.
    for name in ("same", "before"):
        shutil.copytree(tmp_path / "one", tmp_path / name)
        results.path(tmp_path / name).unlink()
        if name == "before":
            shutil.rmtree(tmp_path / name / "checkpoints/00000020")
        assert run(name)["stopped_early"] == 20
        assert kill_run.differences(tmp_path / "one", tmp_path / name) == []
    # A longer run continues; main has claimed the workdir with EXTEND.
    before = kill_run.lines(tmp_path / "few", "dev")
    results.path(tmp_path / "few").unlink()
    few = run("few", min_dev_examples=41, min_epochs=4)
    assert few["num_steps"] == few["best_step"] == 80
    after = kill_run.lines(tmp_path / "few", "dev")
    assert after[: len(before)] == before and after[-1]["step"] == 80
    # It does not resume on other examples, or from another preset.
    results.path(tmp_path / "one").unlink()
    for split in ("dev", "train"):
        with open(data / f"glue/CoLA/{split}.tsv", "a") as file:
            file.write("x\t1\t\tone more\n")
        with pytest.raises(errors.InputError, match="`train` or `dev` have"):
            run("one")
    with pytest.raises(errors.InputError, match="^the files behind `preset` "):
        tiny_runs.finetune(tmp_path / "one", tiny.folder / "cola", data)
    with pytest.raises(errors.InputError, match="^`task` is 3: give"):
        tiny_runs.finetune(tmp_path, tiny.folder / "cola", data, task=3)


def test_ablations_and_several_seeds(fine_tune, tiny, tmp_path, monkeypatch):
    """A part of the examples, no pretraining, no auxiliary loss."""
    run = functools.partial(
        *(fine_tune, "."),
        lm_loss_weight=0.0,
        num_transferred_layers=-1,
        num_train_examples=24,
        seeds=(1, 2),
    )
    draw = mock.Mock(wraps=examples.draw_subset)
    monkeypatch.setattr(examples, "draw_subset", draw)
    found = run()
    # Each seed draws its own part.
    seeds = [call.kwargs["seed"] for call in draw.mock_calls if call.kwargs]
    assert seeds == [1, 2]
    assert found["num_train_examples"] == 24 and found["num_steps"] == 3
    assert found["num_transferred_layers"] == -1 and found["seed"] == [1, 2]
    first, second = (
        next(x for x in kill_run.lines(tmp_path / name) if "gradient_norm" in x)
        for name in ("seed_1", "seed_2")
    )
    # And its own weights and masks.
    states = [
        kill_run.last_checkpoint(tmp_path / f"seed_{i}")[1] for i in (1, 2)
    ]
    drawn = [name for name in states[0] if "seed_generator" in name]
    assert all(states[0][k][0] != states[1][k][0] for k in drawn) and drawn
    assert first["loss"] != second["loss"]
    for line in (first, second):
        assert line["loss"] == line["task_loss"]
        assert "lm_loss" not in line and "perplexity" not in line
    # Another worker than the chief has no preset of a finished seed.
    worker = tmp_path / "worker"
    without = shutil.ignore_patterns("preset", "checkpoints")
    shutil.copytree(tmp_path / "seed_1", worker / "seed_1", ignore=without)
    shutil.rmtree(tmp_path / "seed_2")
    # Nor is one that trained on other examples combined with new ones.
    (tmp_path / "result.json").unlink()
    data = shutil.copytree(tiny.data, tmp_path / "data")
    with open(data / "glue/CoLA/dev.tsv", "a") as file:
        file.write("x\t1\t\tone more\n")
    with pytest.raises(errors.InputError, match="`dev` have changed since"):
        run(data=data)
    assert not (tmp_path / "seed_2").exists()
    monkeypatch.setattr(strategy.Strategy, "workdir", lambda *_: worker)
    run()
    assert results.read(worker)["seed"] == [1, 2]


def test_lora_is_merged_into_the_preset_and_resumes(
    fine_tune, tiny, preset, tmp_path
):
    run = functools.partial(fine_tune, lora_rank=2, num_epochs=2)
    learned = run("one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    results.path(tmp_path / "two").unlink()
    for path in sorted((tmp_path / "two/checkpoints").glob("0*"))[1:]:
        shutil.rmtree(path)
    run("two")
    assert kill_run.differences(tmp_path / "one", tmp_path / "two") == []
    # The preset is one of a network without adapters.
    dev = tmp_path / "dev"
    scored = tiny_runs.run("evaluate", tmp_path / "one", dev, tiny.data)
    assert scored["metrics"] == pytest.approx(learned["metrics"])
    assert scored["metrics"]["matthews"] > 0
    before, after = (
        {w.path: small_models.read(w) for w in model.backbone.weights}
        for model in (
            presets.load(causal_lm.GPT1CausalLM, preset),
            presets.load(task_model.GPT1TaskModel, tmp_path / "one/preset"),
        )
    )
    assert {
        path.split("/")[-2:] == ["query_key_value", "kernel"]
        or path.endswith("query_key_value/bias")
        for path in before
        if not np.array_equal(before[path], after[path])
    } == {True}
    for more in ({"num_transferred_layers": 0}, {"lora_rank": 16}):
        with pytest.raises(errors.InputError, match="^`lora_rank`"):
            run("refused", **more)


def test_lstm_learns_and_is_evaluated_and_measured(tiny, lstm, tmp_path):
    """From its preset on, the baseline passes through the same runs."""
    cola, dev, zero = (tmp_path / name for name in ("cola", "dev", "zero"))
    learned = tiny_runs.finetune(cola, lstm, tiny.data, num_epochs=3)
    assert learned["backbone"] == "LSTMBackbone"
    assert learned["metrics"]["matthews"] > 0.7
    scored = tiny_runs.run("evaluate", cola, dev, tiny.data)
    assert scored["metrics"] == pytest.approx(learned["metrics"])
    assert not (dev / "tokens.html").exists()
    assert tiny_runs.run("zero_shot/cola", lstm, zero, tiny.data)["metrics"]


@pytest.fixture(scope="module")
def own(tiny, tmp_path_factory):
    """A folder with my.csv, and what was fine-tuned on it."""
    folder = tmp_path_factory.mktemp("own")
    draws = random.Random(3)
    rows = [tiny_task.sentence(draws) for _ in range(160)]
    lines = [f"{text},{'bg'[int(label)]}\n" for text, label in rows]
    (folder / "my.csv").write_text("".join(["review,stars\n", *lines]))
    status, errors = run_own(tiny, folder)
    assert status == 0, errors
    return folder


def run_own(tiny, folder, workdir="run", **more):
    settings = {
        "TRAIN_FILE": str(folder / "my.csv"),
        "PRESET": str(tiny.folder / "pretrained"),
        **{"TEXT_COLUMN": "review", "LABEL_COLUMN": "stars"},
        **{"SEQUENCE_LENGTH": 32, "BATCH_SIZE": 8, "NUM_EPOCHS": 4},
        **{"DTYPE": "float32", "PEAK_LEARNING_RATE": 1e-2},
        "finetune.FineTuning.bucket_lengths": (16, 32),
        "custom.custom.metric": "macro_f1",
    }
    return tiny_runs.call_main(
        "gin/finetune/custom.gin", folder / workdir, **settings | more
    )


def test_own_rows(tiny, own, tmp_path):
    found, dev = results.read(own / "run"), own / "run" / "dev.jsonl"
    # The records of a run below are no concern of the one above.
    more = {"custom.custom.dev_fraction": 0.5, "MICROBATCH_SIZE": 3}
    assert "MICROBATCH_SIZE 3: change" in run_own(tiny, own, "", **more)[1]
    assert found["task"] == "custom" and found["paper"] == {}
    assert found["num_train_examples"] + found["num_examples"] == 160
    assert found["metrics"]["accuracy"] > found["majority"]["accuracy"]
    # Of the saved weights: labels are rows.
    right = sum(row[i] for i, row in enumerate(found["confusion"]))
    assert right == found["metrics"]["accuracy"] * found["num_examples"]
    support = [each["support"] for each in found["classes"].values()]
    assert support == list(map(sum, found["confusion"]))
    assert list(found["classes"]) == ["b", "g"]
    words = found["baselines"]["words"]
    assert words["accuracy"] > 0.9 and 0 < words["seconds"] < 60
    # The held-out rows are written, and again if they are lost.
    held_out = dev.read_text()
    dev.write_text("")
    status, errors = run_own(tiny, own)
    assert status == 0 and dev.read_text() == held_out, errors
    # They score as they did, with the usual column names.
    settings = {"PRESET": str(own / "run"), "TEST_FILE": dev.name}
    settings["DATA_DIR"] = str(dev.parent)
    name = "gin/evaluate_custom.gin"
    again = tiny_runs.succeed(name, tmp_path, **settings)
    assert again["metrics"] == pytest.approx(found["metrics"])
    assert list(again["metrics"]) == ["macro_f1", "accuracy"]
    assert again["num_examples"] == found["num_examples"]
    assert again["classes"] == found["classes"]


def test_the_log_says_when_a_baseline_is_as_good(monkeypatch):
    """The majority class, too: a network that learned nothing equals it."""
    space = task_lib.Classes(("a", "b"))
    task = types.SimpleNamespace(name="custom", label_space=space)
    train, dev = mock.MagicMock(task=task), mock.MagicMock()
    train.__len__.return_value = 900
    dev.majority.return_value = {"accuracy": 0.7, "macro_f1": 0.4}
    dev.__len__.return_value = 100
    words = {"words": {"accuracy": 0.6, "macro_f1": 0.6, "seconds": 1.0}}
    logged = []
    monkeypatch.setattr(finetune.logging, "info", logged.append)
    for measured in (words, {}):
        monkeypatch.setattr(
            word_baselines, "measure", lambda *_, found=measured: found
        )
        for value, is_better, is_close in (
            (0.5, False, False),
            (0.7, False, True),
            (0.75, True, True),
            (0.85, True, False),
        ):
            metrics = {"accuracy": value, "macro_f1": 0.4}
            assert finetune._baselines(train, dev, metrics) == measured
            line = logged.pop()
            assert "; majority class: 0.700" in line
            assert ("; TF-IDF: 0.600" in line) == bool(measured)
            assert ("network is no better" in line) != is_better
            doubt = "on 100 rows, a difference below 0.10 may be chance"
            assert (doubt in line) == is_close
    task.label_space = task_lib.Choice()  # which has no other baseline
    assert finetune._baselines(train, dev, {"accuracy": 0.5}) == {}
    expected = "accuracy 0.500; majority class: 0.700; the network is no better"
    assert logged.pop() == f"custom on dev: {expected}"


PIPED = [
    "the garden\n\na tall harbour\n",
    "\ufeffsep=;\r\nid;text;label\r\n7;the garden;?\r\n8;a tall harbour;b\r\n",
    "text\tid\nthe garden\t7\na tall harbour\t8\n",
    'text\n"the garden"\na tall harbour\n',
    "id,text\r7,the garden\r8,a tall harbour\r",
    '{"text": "the garden"}\n{"text": "a tall harbour"}\n',
]


def test_predictions_from_standard_input(tiny, own, monkeypatch, capfd):
    """One text a line, CSV, TSV and JSON lines; labels are not read."""
    found, settings = [], {"PRESET": str(own / "run"), "TEST_FILE": "-"}

    def predict(content, **given):
        piped = io.TextIOWrapper(io.BytesIO(content.encode("utf-8")))
        monkeypatch.setattr(sys, "stdin", piped)
        return tiny_runs.call_main("gin/predict.gin", None, **settings | given)

    for content in (*PIPED, PIPED[0] * 20):
        assert predict(content)[0] == 0
        lines = capfd.readouterr().out.splitlines()
        found.append([line.split("\t") for line in lines])
    names = "line prediction prediction_probability probability_of_b "
    names = f"{names}probability_of_g".split()
    assert found[0][0] == [*names, "text"]
    assert found[1][0] == [*names, "id", "text", "label"]
    assert [row[0] for row in found[0]] == ["line", "1", "3"]
    assert found[1][1][5:] == ["7", "the garden", "?"]
    assert found[1][2][5:] == ["8", "a tall harbour", "b"]
    predicted = [[row[1:5] for row in table] for table in found]
    *others, many = predicted
    assert others == predicted[:1] * len(PIPED)
    # A column that is not there, and a model without a head.
    for content, given, expected in (
        ("id,review\n1,a fine film\n", {"TEXT_COLUMN": "Review"}, "'Review'"),
        ("Text\tid\nthe garden\t7\n", {}, "no column 'text'"),
        ('["the garden"]', {}, "not a JSON object"),
        (PIPED[0], {"PRESET": str(tiny.folder / "pretrained")}, "has no head"),
    ):
        status, message = predict(content, **given)
        assert status == 2 and expected in message
    # More than one batch.
    assert len(many) == 41 and found[-1][-1][0] == "60"
    assert many[-2:] == [row[1:5] for row in found[0][1:]]
