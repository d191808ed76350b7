"""A network with its weights, as TensorFlow alone can run it."""

import tensorflow as tf


class FrozenNetwork(tf.Module):
    """A Keras network whose weights are kept in a dtype of choice.

    Args:
        network: a Keras model, built.
        dtype: str, "float32" or "float16": how the weights are stored. They
            are computed with in the network's own dtype.

    Call arguments:
        inputs: as the network takes them.

    Returns:
        what the network returns, without dropout.
    """

    def __init__(self, network, dtype="float32"):
        super().__init__()
        self._network = _Untracked(network)
        self._weights = [
            [tf.Variable(_stored(value, dtype)) for value in values]
            for values in (
                network.trainable_variables,
                network.non_trainable_variables,
            )
        ]

    def __call__(self, inputs):
        network = self._network.value
        trainable, others = (
            [
                tf.cast(stored, variable.dtype)
                for stored, variable in zip(values, variables, strict=True)
            ]
            for values, variables in zip(
                self._weights,
                (network.trainable_variables, network.non_trainable_variables),
                strict=True,
            )
        )
        outputs, _ = network.stateless_call(
            trainable, others, inputs, training=False
        )
        return outputs


class _Untracked:
    """Keeps a SavedModel from taking the Keras object in."""

    def __init__(self, value):
        self.value = value


def _stored(variable, dtype):
    value = tf.convert_to_tensor(variable.value)
    return tf.cast(value, dtype) if value.dtype.is_floating else value
