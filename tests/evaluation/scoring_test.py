import numpy as np
import pytest
import sklearn.metrics

from gpt1_keras import errors
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import scoring
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import learner as learner_lib
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    tiny_task.write_cola(folder)
    tiny_task.write_preset(folder / "pretrained")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    task = benchmarks.benchmark("cola")
    return tiny_fine_tuned.write(folder / "run", task, folder / "pretrained")


@pytest.fixture(scope="module")
def learner(model):
    return learner_lib.Learner(model, loss=None, clip_norm=1.0)


def of(model, examples, *, task="cola", batch_size=8):
    return scoring.Labelled(
        benchmarks.benchmark(task),
        examples,
        tokenizer=model.preprocessor.tokenizer.pipeline,
        max_sequence_length=tiny_fine_tuned.LENGTH,
        batch_size=batch_size,
        bucket_lengths=(8, 16, 32),
        name="cola dev",
    )


def test_logits_are_those_of_each_example_alone(folder, model, learner):
    """In the order of the examples, whatever is padded or put together."""
    examples = glue.read_cola(folder, "dev")
    assert len(examples) % 7
    found = of(model, examples, batch_size=7).logits(learner)
    expected = tiny_fine_tuned.logits_one_by_one(model, examples)
    assert found.shape == (len(examples), 2)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected, axis=0).min() > 0.01


def test_fewer_examples_than_a_batch(folder, model, learner):
    examples = glue.read_cola(folder, "dev")[:3]
    found = of(model, examples, batch_size=8).logits(learner)
    expected = tiny_fine_tuned.logits_one_by_one(model, examples)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_part_has_the_logits_and_labels_of_its_rows(folder, model, learner):
    whole = of(model, glue.read_cola(folder, "dev"))
    rows = [5, 0, 3]
    part = whole.part(rows, "some")
    assert (part.name, len(part)) == ("some", 3)
    np.testing.assert_equal(part.labels(), whole.labels()[rows])
    np.testing.assert_allclose(
        part.logits(learner), whole.logits(learner)[rows], atol=1e-5
    )


def test_metrics(folder, model):
    examples = glue.read_cola(folder, "dev")
    logits = np.random.default_rng(0).normal(size=(len(examples), 2))
    truth = [int(example.label) for example in examples]
    guesses = logits.argmax(-1)
    found = of(model, examples).measure(logits)
    assert found == {
        "matthews": pytest.approx(
            sklearn.metrics.matthews_corrcoef(truth, guesses)
        ),
        "accuracy": pytest.approx(np.mean(guesses == truth)),
    }


def test_majority_is_the_best_constant(folder, model):
    examples = glue.read_cola(folder, "dev")
    ones = np.mean([example.label == "1" for example in examples])
    assert ones != 0.5
    found = of(model, examples).majority()
    assert found == {
        "matthews": 0.0,
        "accuracy": pytest.approx(max(ones, 1 - ones)),
    }


def test_labels(model):
    labels = ["1", "0", "1"]
    made = of(model, [examples_lib.Example("a tree", label=x) for x in labels])
    assert len(made) == 3
    found = made.labels()
    assert found.dtype == "int32" and found.tolist() == [1, 0, 1]


def test_labels_of_scores(model):
    rows = [
        examples_lib.Example("a tree", "the gate", label=score)
        for score in (2.5, 0.0)
    ]
    found = of(model, rows, task="stsb").labels()
    assert found.tolist() == [[0, 0, 0.5, 0.5, 0, 0], [1, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("label", ["2", None, 1])
def test_label_that_is_none_of_the_task(model, label):
    made = of(model, [examples_lib.Example("a tree", label=label)])
    with pytest.raises(errors.InputError, match="is not one of 0, 1"):
        made.labels()


def test_stops_on_request(folder, model, learner):
    class Request:
        signal_name = "SIGTERM"

    made = of(model, glue.read_cola(folder, "dev"))
    with pytest.raises(errors.Stopped, match="stopped by SIGTERM"):
        made.logits(learner, Request())
