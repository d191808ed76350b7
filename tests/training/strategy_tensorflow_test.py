"""Strategies and their loops with one replica; several in processes."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras import errors
from gpt1_keras.data import loaders
from gpt1_keras.training import fit
from tests.reference import cluster
from tests.reference import replicas
from tests.reference import tiny_learner
from tests.training import strategy_test

if keras.config.backend() != "tensorflow":
    pytest.skip("for the TensorFlow backend", allow_module_level=True)

from gpt1_keras.training import strategy_tensorflow

devices = strategy_test.devices


class Resolver:
    """In place of `TPUClusterResolver`, which would ask the network."""

    def __init__(self, tpu):
        raise RuntimeError(f"{tpu} is asleep\nand dreams")


def test_a_tpu_that_cannot_be_used(monkeypatch):
    monkeypatch.delenv("TPU_NAME", raising=False)
    with pytest.raises(errors.InputError) as found:
        devices("tpu", tpu="local").open()
    message = str(found.value)
    assert message.startswith("TPU 'local' cannot be used (")
    assert "'local'" in message and "`strategy_name`" in message
    assert "\n" not in message and len(message) < 260
    resolvers = strategy_tensorflow.tf.distribute.cluster_resolver
    monkeypatch.setattr(resolvers, "TPUClusterResolver", Resolver)
    with pytest.raises(
        errors.InputError, match=r"TPU 'x' cannot be used \(x is asleep and"
    ):
        devices("tpu", tpu="x").open()


@pytest.mark.parametrize(
    "name, config, changes, expected",
    [
        ("multi_worker", "", {}, "needs TF_CONFIG"),
        ("multi_worker", "{}", {"jit_compile": True}, "`jit_compile` is True"),
        ("mirrored", "", {"jit_compile": True}, "`jit_compile` is True"),
        ("mirrored", "", {"num_replicas": 64}, "`num_replicas` is 64"),
    ],
)
def test_what_is_refused(name, config, changes, expected, monkeypatch):
    strategy_tensorflow.tf.constant(1) + 1  # TensorFlow is initialised.
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(errors.InputError, match=expected):
        devices(name, **changes).open()


class FakeStrategy:
    """What `MultiWorker` asks of a `MultiWorkerMirroredStrategy`."""

    num_replicas_in_sync = 4

    def __init__(self, config):
        task = config["task"]
        self.task_type, self.task_id = task["type"], task["index"]
        self.cluster_resolver = self
        self._cluster = config["cluster"]

    def cluster_spec(self):
        return strategy_tensorflow.tf.train.ClusterSpec(self._cluster)


@pytest.mark.parametrize("index", [0, 1])
def test_only_the_first_worker_writes(index, tmp_path):
    config = json.loads(cluster.environments(2)[index]["TF_CONFIG"])
    found = strategy_tensorflow.MultiWorker(FakeStrategy(config))
    assert (found.num_replicas, found.num_workers) == (4, 2)
    assert found.is_chief == (index == 0)
    (tmp_path / "seed_1").mkdir()
    (tmp_path / "seed_1" / "result.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text("1\n")
    (tmp_path / "other.txt").write_text("")
    workdir = found.workdir(tmp_path)
    assert (workdir == tmp_path) == found.is_chief
    # Every worker knows what is done.
    assert (workdir / "seed_1" / "result.json").read_text() == "{}"
    assert (workdir / "metrics.jsonl").read_text() == "1\n"
    assert (workdir / "other.txt").exists() == found.is_chief
    # A chief may be a kind of its own.
    config["cluster"] = {"chief": ["a:1"], "worker": ["b:1", "c:1"]}
    found = strategy_tensorflow.MultiWorker(FakeStrategy(config))
    assert found.num_workers == 3 and not found.is_chief


def loaded(num_steps, first_step=0):
    batches = tiny_learner.Batches()
    return loaders.load(batches, first_step=first_step, num_steps=num_steps)


class Record(keras.callbacks.Callback):
    """The calls and logs of a loop; stops after `last` steps."""

    def __init__(self, last=None):
        super().__init__()
        self.calls, self.logs, self.last = [], [], last

    def on_train_begin(self, logs=None):
        self.calls.append("train begin")

    def on_train_batch_begin(self, batch, logs=None):
        self.calls.append(f"begin {batch}")

    def on_train_batch_end(self, batch, logs=None):
        self.calls.append(f"end {batch}")
        self.logs.append(dict(logs))
        self.model.stop_training = len(self.logs) == self.last

    def on_train_end(self, logs=None):
        self.calls.append("train end")

    def on_predict_batch_end(self, batch, logs=None):
        self.calls.append(f"scored {batch}")


@pytest.fixture(scope="module")
def learner():
    """One replica: the loops are ours, the devices are not several."""
    with devices("mirrored").open().scope():
        return tiny_learner.language_model(dropout=0.2, micro_batch_size=2)


@pytest.fixture(autouse=True)
def reset(request):
    """Bring the shared learner back to its first state."""
    if "learner" not in request.fixturenames:
        return
    learner = request.getfixturevalue("learner")
    plain = tiny_learner.language_model(dropout=0.2, micro_batch_size=2)
    variables = learner.variables + learner.optimizer.variables
    for variable, value in zip(variables, tiny_learner.state_of(plain)):
        variable.assign(value)
    learner.stop_request = None


def test_one_replica_learns_bit_for_bit_as_without_strategy(learner):
    plain = tiny_learner.language_model(dropout=0.2, micro_batch_size=2)
    assert learner.is_distributed and not plain.is_distributed
    found = []
    for each in (learner, plain):
        record = Record()
        each.fit(
            loaded(3), epochs=1, verbose=0, shuffle=False, callbacks=[record]
        )
        scores = each.predict(loaded(2, 5), verbose=0, callbacks=[record])
        found.append((record, tiny_learner.state_of(each), scores))
    (ours, states, scores), (theirs, expected, their_scores) = found
    assert ours.calls == theirs.calls and len(ours.calls) == 10
    assert ours.logs == theirs.logs
    for a, b in zip(states, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert set(scores) == set(their_scores) == {"log_probability", "weight"}
    for name in scores:
        np.testing.assert_array_equal(scores[name], their_scores[name])


def test_a_callback_ends_the_loop(learner):
    record = Record(last=2)
    learner.fit(loaded(3), callbacks=[record])
    steps = ops.convert_to_numpy(learner.optimizer.iterations)
    assert len(record.logs) == 2 == int(steps)


def test_a_stop_request_is_obeyed_after_the_step_that_shares_it():
    own = fit.StopRequest()
    stop, heard = fit.SharedStopRequest(own), []

    class Ask(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert "stop_requests" not in logs
            heard.append(bool(stop))
            own.signal_name = "SIGTERM"

    with devices("mirrored").open().scope():
        learner = tiny_learner.language_model()
    learner.stop_request = stop
    learner.fit(loaded(2), callbacks=[Ask()])
    assert heard == [False, True] and stop.signal_name == "SIGTERM"


@pytest.mark.slow
def test_replicas_learn_what_one_device_learns(tmp_path):
    replicas.assert_equal_to_one_device(
        tmp_path, "tensorflow", {"mirrored": 2, "multi_worker": 2}
    )


@pytest.mark.slow
def test_every_replica_draws_its_own_dropout(tmp_path):
    replicas.assert_own_dropout(tmp_path, "tensorflow", "mirrored")
