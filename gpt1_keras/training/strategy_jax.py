"""Strategy of the JAX backend, on `keras.distribution`."""

import contextlib

import jax
import keras

from gpt1_keras import errors
from gpt1_keras.training import strategy as strategy_lib


def data_parallel(devices):
    """Return the strategy over the devices that JAX sees.

    XLA_FLAGS=--xla_force_host_platform_device_count=N splits a CPU into N.
    """
    found = jax.devices()
    count = devices.num_replicas or len(found)
    if count > len(found):
        raise errors.InputError(
            f"`num_replicas` is {count}, but JAX sees {len(found)} devices: "
            "lower it, or, to split a CPU, set XLA_FLAGS="
            f"--xla_force_host_platform_device_count={count}"
        )
    return DataParallel(found[:count])


class DataParallel(strategy_lib.Strategy):
    """All weights on every device, an equal share of the batch on each."""

    def __init__(self, devices):
        self.distribution = keras.distribution.DataParallel(
            devices=[f"{device.platform}:{device.id}" for device in devices]
        )
        self.num_replicas = len(devices)

    def scope(self):
        # It stays set: Keras also reads it while the model runs.
        keras.distribution.set_distribution(self.distribution)
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def single_device(self):
        keras.distribution.set_distribution(None)
        try:
            yield
        finally:
            keras.distribution.set_distribution(self.distribution)
