"""Strategies of the TensorFlow backend, on `tf.distribute`.

Also `fit` and `predict` of a `Learner` on several replicas: Keras's own fail
with several workers.
"""

import atexit
import contextlib
import pathlib
import shutil
import tempfile
import textwrap

import keras
import tensorflow as tf
from keras import ops

from gpt1_keras import errors
from gpt1_keras.training import strategy as strategy_lib

# Files of a workdir that record what is done.
_RECORDS = ("metrics.jsonl", "result.json")
_PREFETCH = 4  # batches kept ready
# Raised by a collective when a worker has ended.
_LOST_WORKER = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.InternalError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
)


class TensorFlowStrategy(strategy_lib.Strategy):
    """Replicas of one process under a `tf.distribute.Strategy`."""

    def __init__(self, strategy):
        # Do not log every all-reduce when it is traced.
        tf.get_logger().setLevel("WARNING")
        self.strategy = strategy
        self.num_replicas = strategy.num_replicas_in_sync

    def scope(self):
        return self.strategy.scope()


class MultiWorker(TensorFlowStrategy):
    """Replicas of several processes; only the chief writes to the workdir.

    The others use temporary folders with copies of its records, so that all
    processes take the same decisions and steps.
    """

    def __init__(self, strategy):
        super().__init__(strategy)
        self.is_chief = strategy.extended.should_checkpoint

    def workdir(self, workdir):
        if self.is_chief:
            return workdir
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="gpt1_keras_"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        for name in _RECORDS:
            for path in pathlib.Path(workdir).rglob(name):
                copy = scratch / path.relative_to(workdir)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        return scratch

    def share_stop_request(self, request, learner):
        request.is_heard = False
        learner.stop_request = request

    def share_state(self, step, learner):
        # A new variable has the chief's value on every worker.
        with self.scope(), _all_workers(self.strategy):
            for variable in learner.variables + learner.optimizer.variables:
                value = ops.convert_to_numpy(variable)
                variable.assign(tf.Variable(value).numpy())
            return int(tf.Variable(step).numpy())


def mirrored(devices):
    """Return the strategy over the GPUs of this machine.

    Without a GPU, `num_replicas` logical devices of the CPU are the replicas:
    no faster, but the same program.
    """
    gpus = tf.config.list_physical_devices("GPU")
    count = devices.num_replicas or max(1, len(gpus))
    if gpus and count > len(gpus):
        raise errors.InputError(
            f"`num_replicas` is {count}, but this machine has {len(gpus)} "
            "GPUs: lower it"
        )
    if not gpus and count > 1:
        (cpu, *_) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration()] * count
        try:
            tf.config.set_logical_device_configuration(cpu, parts)
        except RuntimeError:
            raise errors.InputError(
                f"`num_replicas` is {count}, but TensorFlow is already "
                "initialised and cannot split the CPU: set it before the "
                "first run of this process"
            ) from None
    kind = "GPU" if gpus else "CPU"
    return TensorFlowStrategy(
        tf.distribute.MirroredStrategy([f"{kind}:{i}" for i in range(count)])
    )


def tpu(devices):
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=devices.tpu
        )
        if devices.tpu != "local":
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        found = TensorFlowStrategy(tf.distribute.TPUStrategy(resolver))
    except Exception as error:  # It can fail in many ways, none documented.
        reason = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise errors.InputError(
            f"TPU {devices.tpu!r} cannot be used ({reason}): give its name, "
            "'local' on the machine that has it, or another `strategy_name`"
        ) from None
    _check_count(devices, found, f"TPU {devices.tpu!r} has", "cores")
    return found


def multi_worker(devices):
    """Return the strategy over the processes of TF_CONFIG (`workdir`)."""
    found = MultiWorker(tf.distribute.MultiWorkerMirroredStrategy())
    _check_count(devices, found, "the workers of TF_CONFIG have", "devices")
    return found


def _check_count(devices, found, owner, kind):
    if devices.num_replicas not in (None, found.num_replicas):
        raise errors.InputError(
            f"`num_replicas` is {devices.num_replicas}, but {owner} "
            f"{found.num_replicas} {kind}: give None"
        )


def fit(learner, dataset, called):
    """Train on every batch once, like `keras.Model.fit`.

    `learner` was built in the strategy's scope; `dataset` has batches
    `[B, ...]` and a known length; `called` is a `CallbackList`.
    """
    stop = learner.stop_request
    learner.stop_training = False
    called.on_train_begin()
    called.on_epoch_begin(0)
    batches = _batches(learner, dataset)
    for index in range(int(dataset.cardinality())):
        called.on_train_batch_begin(index)
        batch = next(batches)
        is_asked = stop is not None and stop.signal_name is not None
        logs = _step(learner, batch, tf.constant(float(is_asked)))
        if stop is not None:
            stop.is_heard = logs.pop("stop_requests") > 0
        called.on_train_batch_end(index, logs)
        if learner.stop_training:
            break
    called.on_epoch_end(0)
    called.on_train_end()


def predict(learner, dataset, callbacks=()):
    """Return the scores of all batches, like `keras.Model.predict`."""
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
    """Yield the argument of `strategy.run` for every batch of the dataset."""
    strategy = learner.distribute_strategy
    total = strategy.num_replicas_in_sync

    def local(context):
        per_worker = total // context.num_input_pipelines
        first = context.input_pipeline_id * per_worker

        def shares(batch):
            return tf.data.Dataset.from_tensor_slices(
                {
                    name: _rows(value, total)[first : first + per_worker]
                    for name, value in batch.items()
                }
            )

        # Endless: workers need not agree on an end at every step.
        shared = dataset.flat_map(shares)
        return shared.prefetch(_PREFETCH * per_worker).repeat()

    iterator = iter(strategy.distribute_datasets_from_function(local))
    for _ in range(int(dataset.cardinality())):
        yield next(iterator)


def _rows(value, num_replicas):
    """Reshape `[B, ...] -> [R, B / R, ...]`."""
    static, dynamic = value.shape.as_list(), tf.shape(value)
    shape = [num_replicas, static[0] // num_replicas]
    shape += [n or dynamic[i] for i, n in enumerate(static)][1:]
    return tf.reshape(value, shape)


def _step(learner, batch, stop_request):
    strategy = learner.distribute_strategy
    if learner.distributed_step is None:
        learner.distributed_step = tf.function(
            lambda *values: strategy.run(
                lambda *values: replica_step(learner, *values), values
            ),
            autograph=False,
            reduce_retracing=True,  # lengths differ
        )
    with _all_workers(strategy):
        logs = learner.distributed_step(batch, stop_request)
        return {
            name: float(strategy.experimental_local_results(value)[0])
            for name, value in logs.items()
        }


def replica_step(learner, batch, stop_request):
    """Run the step of one replica, with random states of its own."""
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
        # The identity puts the argument on a device.
        logs["stop_requests"] = context.all_reduce(
            tf.distribute.ReduceOp.SUM, tf.identity(stop_request)
        )
    return logs


def _scores(learner, batch):
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

        learner.distributed_scores = tf.function(
            score, autograph=False, reduce_retracing=True
        )
    with _all_workers(strategy):
        return learner.distributed_scores(batch)


@contextlib.contextmanager
def _all_workers(strategy):
    """Stop the run if a collective fails because a worker has ended."""
    try:
        yield
    except _LOST_WORKER as error:
        kind = tf.distribute.MultiWorkerMirroredStrategy
        if not isinstance(strategy, kind):
            raise
        reason = f"{type(error).__name__}: {errors.one_line(error.message)}"
        raise errors.Stopped(
            f"a worker has ended ({reason[:300]}): start all workers with the"
            " same command, and they resume from the last checkpoint"
        ) from None
