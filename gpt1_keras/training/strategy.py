"""The devices that a run computes on: the dial STRATEGY.

| STRATEGY        | backend    | devices                                     |
|-----------------|------------|---------------------------------------------|
| `none`          | any        | one                                         |
| `mirrored`      | TensorFlow | the GPUs of one machine, or parts of a CPU  |
| `multi_worker`  | TensorFlow | those of the processes that TF_CONFIG names |
| `tpu`           | TensorFlow | the cores of a TPU                          |
| `data_parallel` | JAX        | those that JAX sees                         |

Each device is a replica: it holds all weights and works on an equal part of
every batch. Losses and gradients are summed over the replicas before the
gradient is clipped (`training.step`), so an update is the same on any number.
"""

import contextlib
import importlib

import keras

from gpt1_keras import checks
from gpt1_keras import errors

# Backend -> what STRATEGY may be there, besides 'none'.
STRATEGIES = {
    "tensorflow": ("mirrored", "multi_worker", "tpu"),
    "jax": ("data_parallel",),
    "torch": (),
}


class Strategy:
    """One device; the base of those of several.

    Attributes:
        num_replicas: int. Devices that share a batch.
        num_workers: int. Processes that they belong to.
        is_chief: bool. Whether this process is the one that writes.
    """

    num_replicas = 1
    num_workers = 1
    is_chief = True

    def scope(self):
        """Return a context in which everything with variables is built."""
        return contextlib.nullcontext()

    def uncut(self):
        """Return a context in which a batch is not cut, for a single text."""
        return contextlib.nullcontext()

    def workdir(self, workdir):
        """Return where this process writes: the chief's is the real one."""
        return workdir

    def stop_request(self, asked, learner):
        """Return the wish to stop that the callbacks of `fit` heed.

        Args:
            asked: `fit.StopRequest` of this process.
            learner: `Learner`, whose updates tell the workers of each other's.
        """
        return asked

    def share_state(self, step, learner):
        """Give every worker the chief's step and variables; return the step.

        Args:
            step: int. Updates that this process has restored.
            learner: compiled `Learner`.
        """
        return step

    def check_batch(self, batch_size, microbatch_size):
        """Complain of sizes that do not divide, before anything heavy starts.

        Args:
            batch_size: int. Examples per update, on all replicas.
            microbatch_size: int or None. Those per forward pass on each.
        """
        self.check_share("batch_size", batch_size)
        share = batch_size // self.num_replicas
        if microbatch_size and share % microbatch_size:
            each = ""
            if self.num_replicas > 1:
                each = f", {share} on each of {self.num_replicas} replicas,"
            raise errors.InputError(
                f"`batch_size` {batch_size}{each} is not a multiple of "
                f"`microbatch_size` {microbatch_size}: change one of them"
            )

    def check_share(self, name, size):
        """Complain of a size that the replicas cannot share evenly.

        Args:
            name: str. Its parameter.
            size: int.
        """
        if size % self.num_replicas:
            raise errors.InputError(
                f"`{name}` {size} is not a multiple of the "
                f"{self.num_replicas} replicas: change it or `num_replicas`"
            )


ONE_DEVICE = Strategy()
# A process can hold one strategy of several devices only.
_opened = {}


@checks.value_object
class Devices:
    """Which devices are asked for; gin binds it.

    Attributes:
        strategy_name: str, see the module.
        num_replicas: int or None. Devices used; None: all that are there.
        tpu: str. The name of the TPU, "local" for one in this machine, ""
            for the one that the environment names.
        jit_compile: bool. Whether XLA is asked for, which replicas of the
            TensorFlow backend cannot have.
    """

    strategy_name: str = "none"
    num_replicas: checks.Count | None = None
    tpu: str = ""
    jit_compile: bool = False

    def open(self):
        """Return the `Strategy`; the same in a process on every call.

        To be called before anything is computed: some devices can only be
        set up then.

        Raises:
            InputError: the backend has no such strategy, or the machine not
                these devices.
        """
        self._check()
        if self.strategy_name == "none":
            return ONE_DEVICE
        if self not in _opened:
            module = importlib.import_module(
                f"gpt1_keras.training.strategy_{keras.config.backend()}"
            )
            _opened[self] = getattr(module, self.strategy_name)(self)
        return _opened[self]

    def _check(self):
        backend = keras.config.backend()
        known = ("none", *STRATEGIES[backend])
        if self.strategy_name not in known:
            advice = f"give {' or '.join(map(repr, known))}"
            if len(known) == 1:
                advice = "it trains on one device: give 'none'"
            raise errors.InputError(
                f"`strategy_name` {self.strategy_name!r} is not one of the "
                f"{backend} backend: {advice}"
            )
        count = self.num_replicas
        if self.strategy_name == "none" and count not in (None, 1):
            raise errors.InputError(
                f"`num_replicas` is {count}, but `strategy_name` 'none' is one "
                f"device: {self._remedy(known[1:])}"
            )

    def _remedy(self, others):
        if not others:
            return "this backend trains on one; give `num_replicas` = None"
        return f"give `strategy_name` {' or '.join(map(repr, others))}"


def seed_offset(replica):
    """Return what a replica adds to the seed of every random state.

    Replica 0 adds nothing, so that one device draws what it always drew.

    Args:
        replica: int or integer tensor.
    """
    # An odd number far from any small difference between two seeds.
    return replica * 0x1E3779B1
