"""Strategies of the TensorFlow backend, on `tf.distribute`."""

import atexit
import contextlib
import pathlib
import shutil
import signal
import tempfile
import textwrap
import threading

import tensorflow as tf
from absl import logging
from keras import ops

from gpt1_keras import errors
from gpt1_keras.training import strategy as strategy_lib

# Files of a workdir that record what is done.
_RECORDS = ("metrics.jsonl", "result.json")
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
        self.strategy, self.scope = strategy, strategy.scope
        self.num_replicas = strategy.num_replicas_in_sync


class MultiWorker(TensorFlowStrategy):
    """Replicas of several processes; only the chief writes to the workdir.

    The others use temporary folders with copies of its records, so that all
    make the same decisions.
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
        with self.scope(), all_workers(self.strategy):
            for variable in learner.variables + learner.optimizer.variables:
                value = ops.convert_to_numpy(variable)
                variable.assign(tf.Variable(value).numpy())
            return int(tf.Variable(step, dtype="int64").numpy())


def mirrored(devices):
    """Return the strategy over the GPUs of this machine.

    Without a GPU, the replicas are `num_replicas` parts of the CPU, for tests.
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
    except Exception as error:  # of many types, none documented
        reason = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise errors.InputError(
            f"TPU {devices.tpu!r} cannot be used ({reason}): give its name, "
            "'local' on the machine that has it, or another `strategy_name`"
        ) from None
    return _checked(found, devices, f"TPU {devices.tpu!r} has", "cores")


def multi_worker(devices):
    """Return the strategy over the processes that TF_CONFIG names."""
    logging.info("waiting until all workers of TF_CONFIG have started")
    # Python's handler would wait for TensorFlow, which waits for workers. It
    # belongs to the main thread.
    is_main = threading.current_thread() is threading.main_thread()
    handler = is_main and signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        found = MultiWorker(tf.distribute.MultiWorkerMirroredStrategy())
    except (RuntimeError, tf.errors.OpError) as error:
        raise errors.InputError(
            f"the workers of TF_CONFIG cannot start ({error}): give every"
            " process an index and a free port of its own, and start all anew"
        ) from None
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
    return _checked(found, devices, "the workers of TF_CONFIG have", "devices")


def _checked(strategy, devices, owner, kind):
    """Return the strategy if it has as many replicas as were asked for."""
    if devices.num_replicas not in (None, strategy.num_replicas):
        raise errors.InputError(
            f"`num_replicas` is {devices.num_replicas}, but {owner} "
            f"{strategy.num_replicas} {kind}: give None"
        )
    return strategy


@contextlib.contextmanager
def all_workers(strategy):
    """Raise `Stopped` if a collective fails because a worker has ended."""
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
