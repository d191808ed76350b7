"""`fit` and `predict` of a `Learner` on several devices, under TensorFlow.

Keras's own loops fail on several workers, and hand a step batches of unknown
length, which a TPU cannot compile. Here every replica gets the same rows of a
batch as on any other machine, with static shapes.

Letters: `R` replicas in all, `B` examples of a batch.
"""

import keras
import tensorflow as tf

from gpt1_keras import errors
from gpt1_keras.training import strategy as strategy_lib

_PREFETCH = 4  # batches kept ready
# What a collective raises when a worker is not there any more.
_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.InternalError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
)


def fit(learner, dataset, callbacks=()):
    """Make an update for every batch; as `keras.Model.fit` for one epoch.

    Args:
        learner: compiled `Learner`, built in the strategy's scope.
        dataset: tf.data.Dataset of batches `[B, ...]`, of known length.
        callbacks: list of Keras callbacks.

    Raises:
        Stopped: another worker is gone.
    """
    called = keras.callbacks.CallbackList(list(callbacks), model=learner)
    stop = learner.stop_request
    learner.stop_training = False
    called.on_train_begin()
    called.on_epoch_begin(0)
    for index, batch in enumerate(_batches(learner, dataset)):
        called.on_train_batch_begin(index)
        wish = tf.constant(float(stop is not None and stop.is_wished))
        logs = _update(learner, batch, wish)
        if stop is not None:
            stop.settle(logs.pop("stop_wishes"))
        called.on_train_batch_end(index, logs)
        if learner.stop_training:
            break
    called.on_epoch_end(0)
    called.on_train_end()


def predict(learner, dataset, callbacks=()):
    """Return the scores of all batches, as `keras.Model.predict`.

    Args: as in `fit`.

    Returns:
        dict of arrays, the examples of all batches in their order.
    """
    called = keras.callbacks.CallbackList(list(callbacks), model=learner)
    called.on_predict_begin()
    found = []
    for index, batch in enumerate(_batches(learner, dataset)):
        called.on_predict_batch_begin(index)
        found.append(_scores(learner, batch))
        called.on_predict_batch_end(index)
    called.on_predict_end()
    # list of {name: [B, ...]} -> {name: [N, ...]}
    return {
        name: tf.concat([scores[name] for scores in found], axis=0).numpy()
        for name in found[0]
    }


def _batches(learner, dataset):
    """Yield what `strategy.run` takes, for every batch of the dataset."""
    strategy = learner.distribute_strategy
    total = strategy.num_replicas_in_sync

    def local(context):
        per_worker = total // context.num_input_pipelines
        first = context.input_pipeline_id * per_worker

        def cut(batch):
            return tf.data.Dataset.from_tensor_slices(
                {
                    name: _rows(value, total)[first : first + per_worker]
                    for name, value in batch.items()
                }
            )

        # Without an end, the workers need not agree on it at every step.
        return dataset.flat_map(cut).prefetch(_PREFETCH * per_worker).repeat()

    iterator = iter(strategy.distribute_datasets_from_function(local))
    for _ in range(int(dataset.cardinality())):
        yield next(iterator)


def _rows(value, num_replicas):
    """`[B, ...] -> [R, B / R, ...]`."""
    static, dynamic = value.shape.as_list(), tf.shape(value)
    shape = [num_replicas, static[0] // num_replicas]
    shape += [n or dynamic[i] for i, n in enumerate(static)][1:]
    return tf.reshape(value, shape)


def _update(learner, batch, wish):
    """Make one update; return its logs as floats."""
    strategy = learner.distribute_strategy
    if learner.distributed_update is None:
        learner.distributed_update = tf.function(
            lambda *values: strategy.run(
                lambda *values: _replica_update(learner, *values), values
            ),
            autograph=False,
        )
    try:
        logs = learner.distributed_update(batch, wish)
        return {
            name: float(strategy.experimental_local_results(value)[0])
            for name, value in logs.items()
        }
    except _LOST as error:
        raise _lost(learner, error) from None


def _replica_update(learner, batch, wish):
    """What one replica does in an update."""
    context = tf.distribute.get_replica_context()
    replica = tf.cast(context.replica_id_in_sync_group, "int64")
    # [seed, counter]: not aggregated, so each replica changes its own copy.
    offset = tf.stack([strategy_lib.seed_offset(replica), 0])
    states = [
        variable
        for variable in learner.non_trainable_variables
        if variable.name == "seed_generator_state"
    ]
    for state in states:
        state.assign(state.value + offset)
    logs = learner.train_step(batch)
    for state in states:
        state.assign(state.value - offset)
    if learner.stop_request is not None:
        # An argument is on no device yet.
        logs["stop_wishes"] = context.all_reduce(
            tf.distribute.ReduceOp.SUM, tf.identity(wish)
        )
    return logs


def _scores(learner, batch):
    """Return the scores of one batch, `{name: [B, ...]}`."""
    strategy = learner.distribute_strategy
    if learner.distributed_scores is None:

        def score(batch):
            scores = strategy.run(
                lambda batch: learner(batch, training=False), args=(batch,)
            )
            # [B / R, ...] of each replica -> [B, ...]
            return {
                name: strategy.gather(value, axis=0)
                for name, value in scores.items()
            }

        learner.distributed_scores = tf.function(score, autograph=False)
    try:
        return learner.distributed_scores(batch)
    except _LOST as error:
        raise _lost(learner, error) from None


def _lost(learner, error):
    """Return what to raise when a collective fails."""
    if learner.stop_request is None:
        return error
    return errors.Stopped(
        f"another worker is gone ({type(error).__name__}): start all workers "
        "with the same command, and they continue from the last checkpoint"
    )
