"""The loops: with one replica here, with several in other processes."""

import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.data import loaders
from gpt1_keras.training import fit
from gpt1_keras.training import strategy as strategy_lib
from tests.reference import replicas
from tests.reference import tiny_learner

if keras.config.backend() != "tensorflow":
    pytest.skip("for the TensorFlow backend", allow_module_level=True)


@pytest.fixture(scope="module")
def strategy():
    """One replica: the loops are ours, the devices are not several."""
    return strategy_lib.Devices(
        strategy_name="mirrored", num_replicas=None, tpu="", jit_compile=False
    ).open()


def loaded(num_steps, first_step=0):
    batches = tiny_learner.Batches()
    return loaders.load(batches, first_step=first_step, num_steps=num_steps)


class Record(keras.callbacks.Callback):
    """The calls and logs of a loop; stops after `last` updates."""

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


def trained(record, **options):
    learner = tiny_learner.language_model(dropout=0.2, **options)
    learner.fit(
        loaded(3), epochs=1, verbose=0, shuffle=False, callbacks=[record]
    )
    return learner


def test_one_replica_learns_bit_for_bit_as_without_strategy(strategy):
    ours, theirs = Record(), Record()
    with strategy.scope():
        first = trained(ours, micro_batch_size=2)
    second = trained(theirs, micro_batch_size=2)
    assert first.is_distributed and not second.is_distributed
    assert ours.calls == theirs.calls and len(ours.calls) == 8
    assert ours.logs == theirs.logs
    for a, b in zip(
        tiny_learner.weights_of(first).values(),
        tiny_learner.weights_of(second).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    scores, expected = (
        learner.predict(loaded(2, 5), verbose=0, callbacks=[record])
        for learner, record in ((first, ours), (second, theirs))
    )
    assert ours.calls[-2:] == theirs.calls[-2:] == ["scored 0", "scored 1"]
    assert set(scores) == set(expected) == {"log_probability", "weight"}
    for name in scores:
        np.testing.assert_array_equal(scores[name], expected[name])


def test_a_callback_ends_the_loop(strategy):
    record = Record(last=2)
    with strategy.scope():
        learner = trained(record)
    updates = ops.convert_to_numpy(learner.optimizer.iterations)
    assert len(record.logs) == 2 == int(updates)


def test_a_wish_to_stop_is_heeded_after_the_update_that_hears_it(strategy):
    asked = fit.StopRequest()
    stop = fit.SharedStopRequest(asked)

    class Ask(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert "stop_wishes" not in logs
            heard.append(bool(stop))
            asked.signal_name = "SIGTERM"

    heard = []
    with strategy.scope():
        learner = tiny_learner.language_model()
    learner.stop_request = stop
    learner.fit(loaded(2), callbacks=[Ask()])
    assert heard == [False, True] and stop.signal_name == "SIGTERM"


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    path = tmp_path_factory.mktemp("replicas") / "one"
    return replicas.run(path, "tensorflow", "none", 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, count",
    [("mirrored", 1), ("mirrored", 2), ("mirrored", 4), ("multi_worker", 2)],
)
def test_replicas_learn_what_one_device_learns(tmp_path, one, name, count):
    several = replicas.run(tmp_path / "n", "tensorflow", name, count)
    found = replicas.differences(one, several)
    print(replicas.row("tensorflow", name, count, found))
    for task in replicas.TASKS:
        assert max(found[task].values()) <= replicas.LIMIT
        # Every update is clipped, and each changes the weights.
        assert one[f"{task}/norms"].min() > 0.05
        assert len(set(one[f"{task}/losses"])) == replicas.NUM_UPDATES


@pytest.mark.slow
def test_every_replica_draws_its_own_dropout(tmp_path):
    replicas.assert_own_dropout(tmp_path, "tensorflow", "mirrored")
