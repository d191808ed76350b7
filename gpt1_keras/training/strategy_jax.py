"""The strategy of the JAX backend: `keras.distribution`."""

import contextlib

import jax
import keras

from gpt1_keras import errors
from gpt1_keras.training import strategy as strategy_lib


def data_parallel(devices):
    """Return the strategy over the devices that JAX sees.

    XLA_FLAGS=--xla_force_host_platform_device_count=N makes N of a CPU.
    """
    found = jax.devices()
    count = devices.num_replicas or len(found)
    if count > len(found):
        raise errors.InputError(
            f"NUM_REPLICAS is {count}, but JAX sees {len(found)} devices: "
            "lower it, or, to make several of a CPU, set XLA_FLAGS="
            f"--xla_force_host_platform_device_count={count}"
        )
    return DataParallel(found[:count])


class DataParallel(strategy_lib.Strategy):
    """Weights on every device, the batch cut among them."""

    def __init__(self, devices):
        self.distribution = keras.distribution.DataParallel(
            devices=[f"{device.platform}:{device.id}" for device in devices]
        )
        self.num_replicas = len(devices)

    def scope(self):
        # Keras looks for it while the model runs, too, not only when built.
        keras.distribution.set_distribution(self.distribution)
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def uncut(self):
        keras.distribution.set_distribution(None)
        try:
            yield
        finally:
            keras.distribution.set_distribution(self.distribution)
