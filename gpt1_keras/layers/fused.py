"""Chains of elementwise operations, each compiled into one loop over memory.

In TensorFlow, each operation reads and writes whole tensors: on a CPU that
takes longer than the matrix products in between. XLA compiles a chain into one
loop. Matrix products stay outside, since XLA is slow at them on a CPU; the mask
of dropout is a hash that the loop computes (`layers.dropout`). JAX compiles
whole steps anyway, and torch the whole network if
`strategy.Devices.jit_compile` is True.
"""

import contextlib
import contextvars
import math

import keras
from keras import ops

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


def fused(function, *, inverse=None, summary=None, gradient=None):
    """Return `function` with the arguments `*tensors, training, bias=None`.

    `function` takes tensors, uses no variables or generators of random numbers,
    and returns one tensor. A `bias` is added to its first argument. In training
    with TensorFlow on a CPU, XLA compiles it for each combination of shapes,
    and its gradient is computed from the arguments alone: no intermediate
    result stays in memory. Otherwise, and if all tensors are small, it runs
    unchanged.

    Args:
        function: function of tensors.
        inverse: function. If `function` only moves the values of one tensor,
            `inverse` moves them back. That is the gradient too, for which no
            argument stays in memory.
        summary: function of the same arguments. Its result, one tensor, stays
            in memory for `gradient`.
        gradient: function of the upstream gradient, the result of `summary` and
            the arguments. It returns the gradient of the first argument, the
            only one that has one, in less time than the derivatives of the
            chain.
    """

    def whole(*arguments):
        return function(*_add(*arguments))

    if keras.config.backend() != "tensorflow":
        return lambda *arguments, training, bias=None: whole(bias, *arguments)
    plain, biased = _differentiable(function, inverse, summary, gradient)

    def call(*arguments, training, bias=None):
        if not training:
            return whole(bias, *arguments)
        if bias is None:
            return _call(function, plain, arguments)
        return _call(whole, biased, (bias, *arguments))

    return call


def _differentiable(function, inverse, summary, gradient):
    """Return two functions with gradients, each compiled by XLA.

    The first takes the arguments of `function`, the second a bias before them.
    """
    import tensorflow as tf

    @tf.function(jit_compile=True, autograph=False)
    def forward(*arguments):
        arguments = _add(*arguments)
        return function(*arguments), summary(*arguments) if summary else None

    @tf.function(jit_compile=True, autograph=False)
    def backward(dy, summarized=None, *arguments):
        """Differentiate with respect to the arguments of `function`."""
        if inverse:
            return [inverse(dy)]
        arguments = _add(*arguments)
        if gradient:
            found = gradient(dy, summarized, *arguments)
            return [found, *(None for _ in arguments[1:])]
        floats = [a for a in arguments if a.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            output = function(*arguments)
        found = iter(tape.gradient(output, floats, dy))
        return [next(found) if a.dtype.is_floating else None for a in arguments]

    def differentiate(*arguments):
        found, summarized = forward(*arguments)
        kept = () if inverse else (summarized, *arguments)
        return found, lambda dy: backward(dy, *kept)

    @tf.custom_gradient
    def plain(*arguments):
        return differentiate(None, *arguments)

    @tf.custom_gradient
    def biased(bias, *arguments):
        found, back = differentiate(bias, *arguments)

        def gradients(dy):
            dx, *others = back(dy)
            # [..., *bias.shape] -> [rows, values]; XLA is slow at this sum.
            rows = tf.reshape(dx, (-1, bias.shape.num_elements()))
            total = tf.raw_ops.BiasAddGrad(out_backprop=rows)
            return tf.reshape(total, bias.shape), dx, *others

        return found, gradients

    return plain, biased


def _add(bias, x, *others):
    return (x if bias is None else ops.add(x, bias), *others)


def product(dense, x, training):
    """Return `dense(x)` without its bias, and the bias for a loop to add.

    On a CPU with AMX, TensorFlow computes a product with its bias in twice the
    time of the product alone. Where `fused` never compiles a loop and where
    `dense` is quantized, the first tensor has the bias and the second is None.
    """
    is_compiled = keras.config.backend() == "tensorflow" and training
    if not is_compiled or device.kind() != "cpu" or dense.quantization_mode:
        return dense(x), None
    return ops.matmul(x, dense.kernel), dense.bias


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
