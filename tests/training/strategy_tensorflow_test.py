from concurrent import futures

import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras import errors
from gpt1_keras.data import loaders
from gpt1_keras.training import fit
from tests.reference import cluster
from tests.reference import tiny_learner
from tests.training import strategy_test

if keras.config.backend() != "tensorflow":
    pytest.skip("for the TensorFlow backend", allow_module_level=True)


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


@pytest.fixture
def learner():
    """One replica: the loops are ours, the devices are not several."""
    with strategy_test.devices("mirrored").open().scope():
        return tiny_learner.language_model(dropout=0.2, micro_batch_size=2)


def test_one_replica_learns_bit_for_bit_as_without_strategy(learner):
    plain = tiny_learner.language_model(dropout=0.2, micro_batch_size=2)
    assert learner.is_distributed and not plain.is_distributed
    assert learner.optimizer._all_reduce_sum_gradients(["g"]) == ["g"]
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
    np.testing.assert_equal(states, expected)
    assert set(scores) == {"log_probability", "weight", "num_likeliest"}
    np.testing.assert_equal(scores, their_scores)


def test_workers_that_cannot_start(monkeypatch):
    (worker,) = cluster.environments(1)
    monkeypatch.setenv("TF_CONFIG", worker["TF_CONFIG"].replace("[", '["a:1",'))
    with pytest.raises(errors.InputError, match="startup.*: give every proc"):
        with futures.ThreadPoolExecutor() as pool:  # no handler can be set
            pool.submit(strategy_test.devices("multi_worker").open).result()


def test_one_trace_serves_every_length(learner):
    """The same one, whichever length comes first when a run resumes."""
    import tensorflow as tf

    whole = tiny_learner.tensors(tiny_learner.Batches()(0))
    lengths = tf.data.Dataset.from_tensor_slices([6, 3, 4, 5])
    dataset = lengths.map(lambda n: {k: v[..., :n] for k, v in whole.items()})
    learner.fit(dataset)
    learner.predict(dataset)
    for function in (learner.distributed_step, learner.distributed_scores):
        assert function.experimental_get_tracing_count() == 1


def test_a_callback_ends_the_loop(learner):
    record = Record(last=2)
    learner.fit(loaded(3), callbacks=[record])
    steps = ops.convert_to_numpy(learner.optimizer.iterations)
    assert len(record.logs) == 2 == int(steps)


def test_a_stop_request_is_obeyed_after_the_step_that_shares_it(learner):
    stop, heard = fit.StopRequest(), []
    stop.is_heard = False

    class Ask(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert "stop_requests" not in logs
            heard.append(bool(stop))
            stop.signal_name = "SIGTERM"

    learner.stop_request = stop
    learner.fit(loaded(2), callbacks=[Ask()])
    assert heard == [False, True]
