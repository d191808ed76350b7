"""Strategies of the TensorFlow backend: `tf.distribute`."""

import atexit
import os
import pathlib
import shutil
import tempfile
import textwrap

import tensorflow as tf

from gpt1_keras import errors
from gpt1_keras.training import signals
from gpt1_keras.training import strategy as strategy_lib

# What runs keep in a workdir to know what is done.
_RECORDS = ("metrics.jsonl", "result.json")


class TensorFlowStrategy(strategy_lib.Strategy):
    """Replicas of one process under a `tf.distribute.Strategy`."""

    def __init__(self, strategy):
        # Every all-reduce that is traced would be a line on the screen.
        tf.get_logger().setLevel("WARNING")
        self.strategy = strategy
        self.num_replicas = strategy.num_replicas_in_sync

    def scope(self):
        return self.strategy.scope()


def mirrored(devices):
    """Return the strategy over the GPUs of this machine.

    Where there is no GPU, `num_replicas` logical parts of its CPU are the
    replicas: no faster, but the same program.
    """
    _refuse_xla(devices)
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        names = _logical_cpus(devices.num_replicas or 1)
    else:
        count = devices.num_replicas or len(gpus)
        if count > len(gpus):
            raise errors.InputError(
                f"NUM_REPLICAS is {count}, but this machine has {len(gpus)} "
                "GPUs: lower it"
            )
        names = [f"GPU:{i}" for i in range(count)]
    return TensorFlowStrategy(tf.distribute.MirroredStrategy(names))


def tpu(devices):
    """Return the strategy over all cores of a TPU."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=devices.tpu
        )
        if devices.tpu != "local":
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        found = TensorFlowStrategy(tf.distribute.TPUStrategy(resolver))
    except Exception as error:  # As many kinds as there are ways to fail.
        reason = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise errors.InputError(
            f"TPU {devices.tpu!r} is not there ({reason}): give its name, "
            "'local' on the machine that has it, or another STRATEGY"
        ) from None
    if devices.num_replicas not in (None, found.num_replicas):
        raise errors.InputError(
            f"NUM_REPLICAS is {devices.num_replicas}, but TPU "
            f"{devices.tpu!r} has {found.num_replicas} cores: give None"
        )
    return found


def multi_worker(devices):
    """Return the strategy over the processes that TF_CONFIG names."""
    _refuse_xla(devices)
    if not os.environ.get("TF_CONFIG"):
        raise errors.InputError(
            "STRATEGY 'multi_worker' needs TF_CONFIG in the environment of "
            "every process: the addresses of all workers and which one it is"
        )
    found = MultiWorker(tf.distribute.MultiWorkerMirroredStrategy())
    if devices.num_replicas not in (None, found.num_replicas):
        raise errors.InputError(
            f"NUM_REPLICAS is {devices.num_replicas}, but the workers of "
            f"TF_CONFIG have {found.num_replicas} devices: give None"
        )
    return found


class MultiWorker(TensorFlowStrategy):
    """Replicas of several processes, one of which writes.

    All others write into a folder of their own that is thrown away. So every
    process takes the same steps, and decides alike from what is recorded.
    """

    def __init__(self, strategy):
        super().__init__(strategy)
        resolver = strategy.cluster_resolver
        task = resolver.task_type, resolver.task_id
        spec = resolver.cluster_spec().as_dict()
        chief = ("chief", 0) if "chief" in spec else ("worker", 0)
        self.num_workers = sum(
            len(spec.get(kind, ())) for kind in ("chief", "worker")
        )
        self.is_chief = task == chief

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

    def stop_request(self, asked, learner):
        learner.stop_request = signals.SharedStopRequest(asked)
        return learner.stop_request

    def share_state(self, step, learner):
        variables = [*learner.variables, *learner.optimizer.variables]
        shared = self._from_chief(
            [tf.constant(step), *(v.value for v in variables)]
        )
        for variable, value in zip(variables, shared[1:]):
            variable.assign(value)
        return int(shared[0])

    def _from_chief(self, values):
        """Return tensors as the chief has them: all others add nothing."""
        is_chief = self.is_chief

        def replica():
            context = tf.distribute.get_replica_context()
            here = context.replica_id_in_sync_group == 0
            keep = tf.logical_and(is_chief, here)
            # One by one: they are of several types.
            return [
                context.all_reduce(
                    tf.distribute.ReduceOp.SUM,
                    tf.where(keep, value, tf.zeros_like(value)),
                )
                for value in map(tf.convert_to_tensor, values)
            ]

        run = tf.function(lambda: self.strategy.run(replica), autograph=False)
        shared = run()
        return [self.strategy.experimental_local_results(v)[0] for v in shared]


def _logical_cpus(count):
    """Cut the CPU into `count` devices and return their names."""
    if count > 1:
        (cpu, *_) = tf.config.list_physical_devices("CPU")
        try:
            tf.config.set_logical_device_configuration(
                cpu, [tf.config.LogicalDeviceConfiguration()] * count
            )
        except RuntimeError:
            if len(tf.config.list_logical_devices("CPU")) < count:
                raise errors.InputError(
                    f"NUM_REPLICAS is {count}: TensorFlow has begun and cannot "
                    "cut the CPU any more; give it from the beginning"
                ) from None
    return [f"CPU:{i}" for i in range(count)]


def _refuse_xla(devices):
    if devices.jit_compile:
        raise errors.InputError(
            f"JIT_COMPILE is True, but STRATEGY {devices.strategy_name!r} "
            "works without XLA: give JIT_COMPILE = False"
        )
