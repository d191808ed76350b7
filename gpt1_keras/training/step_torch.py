"""`train_step` on torch: `backward` accumulates over micro-batches."""

import ctypes
import sys
import warnings

import torch

from gpt1_keras.layers import fused
from gpt1_keras.training import step


class TrainStep:
    """Mixin of `Learner` on the torch backend."""

    def compile(self, jit_compile=False, **kwargs):
        # torch.compile gets the network and some loops, each as one graph.
        # Keras would pass it the whole step, which takes minutes to trace and
        # has many graph breaks.
        super().compile(jit_compile=False, **kwargs)
        self.is_compiled = bool(jit_compile)
        self.__dict__.pop("network_outputs", None)  # of an earlier call
        if self.is_compiled:
            _reuse_memory()
            # The warning is about functools.cache, which changes no result.
            warnings.filterwarnings("ignore", "Dynamo detected a call to a")
            self.network_outputs = torch.compile(self.network_outputs)

    def train_step(self, data):
        count = self.count_micro_batches(data["token_ids"])
        batches = step.split(data, count)
        variables = self.trainable_variables
        self.zero_grad()
        starts = [state.value.clone() for state in self.table_states]
        sums = dict.fromkeys(self.loss_function.names, 0.0)
        with fused.torch_compiles(self.is_compiled):
            for index in range(count):
                for state, start in zip(self.table_states, starts):
                    state.assign(start)
                losses = self.training_losses(
                    {key: value[index] for key, value in batches.items()}
                )
                losses["loss"].backward()
                sums = {key: sums[key] + losses[key].detach() for key in sums}
            with torch.no_grad():
                gradients = [variable.value.grad for variable in variables]
                logs, gradients = step.finish(
                    sums, gradients, count, self.clip_norm
                )
                self.optimizer.apply(gradients, variables)
        return logs


def _reuse_memory():
    """Make glibc keep freed memory for the next step.

    Otherwise glibc returns large blocks to the system, which must clear every
    page again: this takes a tenth of a step of the mini network.
    """
    is_linux = sys.platform == "linux"
    mallopt = is_linux and getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(-1, -1)  # M_TRIM_THRESHOLD: never trim
        mallopt(-4, 0)  # M_MMAP_MAX: no blocks outside the heap
