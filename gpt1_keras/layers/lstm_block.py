"""LSTM in place of the decoder blocks (section 5 of the paper)."""

import keras
from keras import ops

from gpt1_keras.layers import configured
from gpt1_keras.layers import fused


@keras.saving.register_keras_serializable(package="gpt1_keras")
class LSTMBlock(configured.ConfiguredLayer):
    """One LSTM layer and a projection back to the width of the embedding.

    `keras.layers.LSTM` holds the weights; the loop over positions is ours.
    The paper does not mention the linear projection, but the tied softmax needs
    states of width `D`. There is no residual connection.

    Letters: as in `CausalSelfAttention`, and `U` num_units. The arguments are
    those of `LSTMBackbone`. All kernels are normal except the recurrent one,
    which is orthogonal (the paper states neither).

    Call arguments and return values are those of `DecoderBlock`, but the cache
    `[B, 2, 1, S, U]` holds the hidden and cell states after each position, and
    `allowed` must be None, because an LSTM sees every earlier position.
    """

    def __init__(
        self,
        *,
        hidden_dim,
        num_units,
        residual_dropout,
        initializer_range,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep(locals())
        self.lstm = keras.layers.LSTM(
            num_units,
            return_sequences=True,
            kernel_initializer=self._normal(),
            name="lstm",
            dtype=self.dtype_policy,
        )
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.output_dropout = self._dropout(residual_dropout, "output_dropout")

    def build(self, input_shape):
        self.lstm.build(input_shape)
        self.output_dense.build((*input_shape[:-1], self.num_units))

    def call(
        self, x, cache=None, cache_update_index=0, allowed=None, training=False
    ):
        if allowed is not None:
            raise ValueError(
                "an LSTM cannot mask earlier positions: score one text per row"
            )
        # [B, T, D] x [D, 4U] -> [T, B, 4U]
        kernel, recurrent, bias = (
            ops.cast(v, self.compute_dtype) for v in self.lstm.weights[:3]
        )
        x = ops.matmul(ops.transpose(x, (1, 0, 2)), kernel) + bias
        if cache is None:
            # [T, B, 4U] -> [T, B, U]
            x = _hidden(x, recurrent)
        else:
            x, found = _continue(x, recurrent, cache, cache_update_index)
        x = ops.transpose(x, (1, 0, 2))
        # [B, T, U] -> [B, T, D], float32 like the output of every block
        x = self.output_dropout(self.output_dense(x), training=training)
        x = ops.cast(x, "float32")
        return x if cache is None else (x, found)

    def compute_output_spec(self, x, **unused):
        return keras.KerasTensor(x.shape, dtype="float32")


def _continue(x, kernel, cache, index):
    """Continue from the states before column `index` of the cache."""
    # [B, 2, 1, S, U] -> [B, 2, 1 + S, U]: zeros before the first column
    states = ops.pad(cache[:, :, 0], ((0, 0), (0, 0), (1, 0), (0, 0)))
    # [B, 2, U]; a slice would make XLA compile again for every column.
    before = ops.take(states, index, axis=2)
    hidden, cell = _states(x, kernel, before[:, 0], before[:, 1])
    # twice [T, B, U] -> [B, 2, 1, T, U]
    found = ops.stack([hidden, ops.cast(cell, hidden.dtype)])
    return hidden, ops.expand_dims(ops.transpose(found, (2, 0, 1, 3)), 2)


def _hidden(x, kernel):
    """Return the hidden states `[T, B, U]`.

    `x` `[T, B, 4U]` is the input's share of the gates, `kernel` `[U, 4U]` the
    recurrent kernel. The gradient of the kernel is one product over all
    positions; that of Keras's layer is a sum of one product for each, which
    takes two to three times as long (docs/log.md).
    """

    @ops.custom_gradient
    def hidden_states(x, kernel):
        start = ops.zeros_like(x[0, :, : kernel.shape[0]])
        hidden, cell = _states(x, kernel, start, start)

        def gradient(*args, upstream=None):
            upstream = args[-1] if upstream is None else upstream
            # The states before each position: [T, B, U]
            h, c = (
                ops.concatenate([ops.zeros_like(v[:1]), v[:-1]])
                for v in (hidden, cell)
            )
            # [T, B, U] x [U, 4U] -> [T, B, 4U]
            gates = x + ops.matmul(h, kernel)
            dx = _backward(kernel, _factors(gates, c, cell, upstream))
            # [U, T B] x [T B, 4U] -> [U, 4U]
            h, dz = (ops.reshape(v, (-1, v.shape[-1])) for v in (h, dx))
            return dx, ops.matmul(ops.transpose(h), dz)

        return hidden, gradient

    return hidden_states(x, kernel)


def _states(x, kernel, hidden, cell):
    """Return hidden and (float32) cell states, `[T, B, U]`, from `[B, U]`."""

    def step(states, x):
        hidden, cell = states
        # [B, U] x [U, 4U] -> [B, 4U]
        states = _step(x, ops.matmul(hidden, kernel), cell)
        return states, states

    start = ops.cast(hidden, x.dtype), ops.cast(cell, "float32")
    return ops.scan(step, start, x)[1]


@fused.compiled
def _step(x, recurrent, cell):
    """Return the next hidden and cell state `[B, U]`."""
    i, f, g, o = _gates(x + recurrent)
    cell = f * cell + i * g
    return ops.cast(o * ops.tanh(cell), x.dtype), cell


def _gates(x):
    """Return input and forget gate, candidate, output gate: [..., U] each."""
    i, f, g, o = ops.split(ops.cast(x, "float32"), 4, axis=-1)
    return ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)


@fused.compiled
def _factors(gates, before, cell, upstream):
    """Return what each step of `_backward` needs, `[T, B, 7U]`.

    `before` and `cell` are the cell states before and after each position. The
    parts are the gradient of the hidden state, `upstream`; the derivatives of
    the cell state by input gate, forget gate and candidate; those of the hidden
    state by output gate and cell state; and of the cell state by that before.
    """
    i, f, g, o = _gates(gates)
    new = ops.tanh(cell)
    parts = [
        ops.cast(upstream, "float32"),
        g * i * (1 - i),
        before * f * (1 - f),
        i * (1 - g * g),
        new * o * (1 - o),
        o * (1 - new * new),
        f,
    ]
    # Keras's scan on TensorFlow takes several tensors of known length only.
    return ops.concatenate(parts, axis=-1)


def _backward(kernel, factors):
    """Return the gradient of the gates, `[T, B, 4U]`, in the kernel's dtype."""
    transposed = ops.transpose(kernel)

    def step(carried, factors):
        dz, dc = carried
        # [B, 4U] x [4U, U] -> [B, U]
        carried = _step_back(ops.matmul(dz, transposed), dc, factors)
        return carried, carried

    dc = ops.zeros_like(factors[0, :, : kernel.shape[0]])
    dz = ops.cast(ops.tile(dc, (1, 4)), kernel.dtype)
    return ops.scan(step, (dz, dc), factors, reverse=True)[1][0]


@fused.compiled
def _step_back(recurrent, dc, factors):
    """Return the gradients of gates `[B, 4U]` and last cell state `[B, U]`."""
    size = dc.shape[-1]
    upstream, to_gates, to_cell, to_last = ops.split(
        factors, [size, 5 * size, 6 * size], axis=-1
    )
    dh = upstream + ops.cast(recurrent, "float32")
    dc = dc + dh * to_cell
    dz = to_gates * ops.concatenate([dc, dc, dc, dh], axis=-1)
    return ops.cast(dz, recurrent.dtype), dc * to_last
