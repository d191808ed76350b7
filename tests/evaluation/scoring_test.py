import numpy as np
import pytest
import sklearn.metrics

from gpt1_keras import errors
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


@pytest.mark.parametrize("batch_size, count", [(7, 40), (8, 3)])
def test_logits_are_those_of_each_example_alone(
    folder, model, learner, batch_size, count
):
    """In the order of the examples, whatever is padded or shares a batch."""
    examples = glue.read_cola(folder, "dev")[:count]
    assert len(examples) == count and count % batch_size
    found = of(model, examples, batch_size=batch_size).logits(learner)
    expected = tiny_fine_tuned.logits_one_by_one(model, examples)
    assert found.shape == (count, 2)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected, axis=0).min() > 0.01


def test_part_has_the_logits_and_labels_of_its_rows(folder, model, learner):
    whole = of(model, glue.read_cola(folder, "dev"))
    rows = [5, 0, 3]
    part = whole.part(rows, "some")
    assert (part.name, len(part)) == ("some", 3)
    labels = part.labels()
    assert labels.dtype == "int32"
    np.testing.assert_equal(labels, whole.labels()[rows])
    assert labels.tolist() == [int(whole.examples[row].label) for row in rows]
    np.testing.assert_allclose(
        part.logits(learner), whole.logits(learner)[rows], atol=1e-5
    )


def test_metrics_and_majority(folder, model):
    examples = glue.read_cola(folder, "dev")
    logits = np.random.default_rng(0).normal(size=(len(examples), 2))
    truth = [int(example.label) for example in examples]
    guesses = logits.argmax(-1)
    expected = sklearn.metrics.matthews_corrcoef(truth, guesses)
    assert of(model, examples).measure(logits) == {
        "matthews": pytest.approx(expected),
        "accuracy": pytest.approx(np.mean(guesses == truth)),
    }
    ones = np.mean(truth)
    assert ones != 0.5
    accuracy = pytest.approx(max(ones, 1 - ones))
    found = of(model, examples).majority()
    assert found == {"matthews": 0.0, "accuracy": accuracy}


def test_stops_on_request(folder, model, learner):
    class Request:
        signal_name = "SIGTERM"

    made = of(model, glue.read_cola(folder, "dev"))
    with pytest.raises(errors.Stopped, match="stopped by SIGTERM"):
        made.logits(learner, Request())
