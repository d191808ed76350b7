"""The devices of a run: one replica, or several.

| strategy_name   | backend    | devices                                     |
|-----------------|------------|---------------------------------------------|
| `none`          | any        | one                                         |
| `mirrored`      | TensorFlow | GPUs of one machine, or logical CPU devices |
| `multi_worker`  | TensorFlow | those of the processes that TF_CONFIG names |
| `tpu`           | TensorFlow | the cores of a TPU                          |
| `data_parallel` | JAX        | those that JAX sees                         |

Each device is a replica: it holds all weights and processes an equal share of
every batch. Losses and gradients are summed over the replicas before the
gradient is clipped, so a step does not depend on the number of replicas.
"""

import contextlib
import importlib
import os
import shutil
import sys

import keras

from gpt1_keras import checks
from gpt1_keras import device
from gpt1_keras import errors

# Backend -> its values of strategy_name besides 'none'.
STRATEGIES = {
    "tensorflow": ("mirrored", "multi_worker", "tpu"),
    "jax": ("data_parallel",),
    "torch": (),
}


class Strategy:
    """A single device; base class of the strategies for several."""

    num_replicas = 1  # devices that share a batch
    is_chief = True  # whether this process writes

    def scope(self):
        """Return the context in which to build everything with variables."""
        return contextlib.nullcontext()

    def single_device(self):
        """Return the context in which a batch is not split, as for one text."""
        return contextlib.nullcontext()

    def workdir(self, workdir):
        """Return where this process writes: the chief to `workdir`."""
        return workdir

    def share_stop_request(self, request, learner):
        """Share this process's `fit.StopRequest` with the other workers."""

    def share_state(self, step, learner):
        """Give every worker the chief's step and variables; return the step."""
        return step

    def check_batch(self, batch_size, microbatch_size):
        """Refuse a batch that replicas and micro-batches cannot share."""
        self.check_share("batch_size", batch_size)
        share = batch_size // self.num_replicas
        if microbatch_size and share % microbatch_size:
            raise errors.InputError(
                f"`batch_size` {batch_size}, {share} on each of "
                f"{self.num_replicas} replicas, is not a multiple of "
                f"`microbatch_size` {microbatch_size}: change one of them"
            )

    def check_share(self, name, size):
        """Refuse a size (parameter `name`) that replicas cannot share."""
        if size % self.num_replicas:
            raise errors.InputError(
                f"`{name}` {size} is not a multiple of the "
                f"{self.num_replicas} replicas: change it or `num_replicas`"
            )


class DataParallel(Strategy):
    """Replicas on the devices that JAX sees, with `keras.distribution`."""

    def __init__(self, devices):
        found = keras.distribution.list_devices()
        self.num_replicas = devices.num_replicas or len(found)
        if self.num_replicas > len(found):
            raise errors.InputError(
                f"`num_replicas` is {self.num_replicas}, but JAX sees "
                f"{len(found)} devices: lower it, or, to split a CPU, set "
                "XLA_FLAGS=--xla_force_host_platform_device_count="
                f"{self.num_replicas}"
            )
        self.distribution = keras.distribution.DataParallel(
            devices=found[: self.num_replicas]
        )

    def scope(self):
        # The distribution stays set: Keras also reads it while a model runs.
        keras.distribution.set_distribution(self.distribution)
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def single_device(self):
        keras.distribution.set_distribution(None)
        try:
            yield
        finally:
            keras.distribution.set_distribution(self.distribution)


ONE_DEVICE = Strategy()
# A process can open only one strategy for several devices.
_opened = {}


@checks.value_object
class Devices:
    """Devices requested by the configuration."""

    strategy_name: str = "none"  # see the module
    num_replicas: checks.Count | None = None  # None: all devices
    # Name of the TPU, "local" for one in this machine, "" for the one that
    # the environment names.
    tpu: str = ""
    # Whether XLA compiles whole steps (not with several TensorFlow replicas);
    # on torch, whether torch.compile compiles the network.
    jit_compile: bool = False

    def open(self):
        """Return the `Strategy`, the same one on every call in a process.

        Call it before any computation: some devices cannot be configured later.
        """
        backend = keras.config.backend()
        names = ("none", *STRATEGIES[backend])
        if self.strategy_name not in names:
            raise errors.InputError(
                f"`strategy_name` {self.strategy_name!r} is not available on "
                f"the {backend} backend: give {' or '.join(map(repr, names))}"
            )
        if self.jit_compile:
            _check_compiler(self.strategy_name)
        if backend == "jax":  # Forget the devices of an earlier run.
            keras.distribution.set_distribution(None)
        if self.strategy_name == "none":
            if self.num_replicas not in (None, 1):
                raise errors.InputError(
                    f"`num_replicas` is {self.num_replicas}, but "
                    "`strategy_name` 'none' uses one device: give "
                    "`num_replicas` = None or a strategy for several devices"
                )
            return ONE_DEVICE
        if self not in _opened:
            build = DataParallel
            if backend == "tensorflow":
                name = "gpt1_keras.training.strategy_tensorflow"
                module = importlib.import_module(name)
                build = getattr(module, self.strategy_name)
            _opened[self] = build(self)
        return _opened[self]


def _check_compiler(strategy_name):
    """Refuse `jit_compile` where it would do harm or lacks a compiler.

    TensorFlow cannot compile the steps of several replicas outside a TPU. On
    a CPU, XLA's matrix products are slower than TensorFlow's own; chains of
    other operations are compiled anyway (`layers.fused`). There, torch.compile
    needs a C++ compiler.
    """
    backend, why = keras.config.backend(), ""
    is_cpu = strategy_name == "none" and device.kind() == "cpu"
    is_replicated = strategy_name in ("mirrored", "multi_worker")
    if backend == "tensorflow" and (is_cpu or is_replicated):
        why = "TensorFlow's steps gain from it on a single GPU only"
    if backend == "torch" and is_cpu:
        usual = "clang++" if sys.platform == "darwin" else "g++"
        # Such as "ccache g++".
        name, *_ = os.environ.get("CXX", "").split() or [usual]
        if shutil.which(name) is None:
            why = f"torch compiles with {name}, which is not installed"
            why += " (the environment variable CXX can name another)"
    if why:
        raise errors.InputError(
            f"`jit_compile` is True, but {why}: add --set "
            '"strategy.Devices.jit_compile = False"'
        )


def seed_offset(replica):
    """Return what a replica (int or tensor) adds to every random seed.

    Replica 0 adds 0, so it draws the numbers of a single device.
    """
    # Odd, and far from any small difference between two seeds.
    return replica * 0x1E3779B1
