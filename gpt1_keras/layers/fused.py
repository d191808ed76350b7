"""Chains of elementwise operations, each compiled into one loop over memory.

In TensorFlow, each operation reads and writes whole tensors: on a CPU that
takes longer than the matrix products in between. XLA compiles a chain into one
loop. Matrix products and random numbers stay outside, since XLA is slow at both
on a CPU. JAX compiles whole steps anyway, and torch the whole network if
`strategy.Devices.jit_compile` is True.
"""

import contextlib
import contextvars
import math

import keras

from gpt1_keras import device

# Compilation takes tenths of a second. For tensors of at least this many
# values, it pays off within a few thousand steps.
SMALLEST = 2**16
# Assumed for dimensions that are unknown before the graph runs.
_USUAL = 256

_torch_compiles = contextvars.ContextVar("torch_compiles", default=False)


@contextlib.contextmanager
def torch_compiles(wanted):
    """Set whether functions of `compiled` use torch.compile (by default no)."""
    token = _torch_compiles.set(wanted)
    try:
        yield
    finally:
        _torch_compiles.reset(token)


def fused(function):
    """Return `function(*tensors, training)`, which is one loop in training.

    `function` takes tensors, uses no variables or random numbers, and returns
    one tensor. In training with TensorFlow on a CPU, XLA compiles it for each
    combination of shapes, and its gradient is computed from the arguments
    alone: no intermediate result stays in memory. Otherwise, and if all tensors
    are small, it runs unchanged.
    """
    if keras.config.backend() != "tensorflow":
        return lambda *arguments, training: function(*arguments)
    import tensorflow as tf

    compiled = tf.function(function, jit_compile=True, autograph=False)

    @tf.function(jit_compile=True, autograph=False)
    def gradients(dy, *arguments):
        floats = [a for a in arguments if a.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            output = function(*arguments)
        found = iter(tape.gradient(output, floats, dy))
        return [next(found) if a.dtype.is_floating else None for a in arguments]

    @tf.custom_gradient
    def differentiable(*arguments):
        return compiled(*arguments), lambda dy: gradients(dy, *arguments)

    def call(*arguments, training):
        if not training:
            return function(*arguments)
        return _call(function, differentiable, arguments)

    return call


def compiled(function):
    """Return a function of tensors, compiled as one loop without gradient."""
    if keras.config.backend() == "torch":
        import torch

        loop = torch.compile(function)
        return lambda *arguments: (
            loop(*arguments) if _torch_compiles.get() else function(*arguments)
        )
    if keras.config.backend() != "tensorflow":
        return function
    import tensorflow as tf

    loop = tf.function(function, jit_compile=True, autograph=False)
    return lambda *arguments: _call(function, loop, arguments)


def _call(function, loop, arguments):
    """Call `loop` on a CPU with large tensors, else `function`."""
    import tensorflow as tf

    if device.kind() != "cpu":
        return function(*arguments)
    tensors = [tf.convert_to_tensor(argument) for argument in arguments]
    size = max(math.prod(d or _USUAL for d in t.shape) for t in tensors)
    return (loop if size >= SMALLEST else function)(*tensors)
