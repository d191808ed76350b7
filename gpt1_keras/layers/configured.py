"""What all classes with a Keras config share: it is their arguments."""

import inspect

import keras

from gpt1_keras.layers import dropout


class Configured:
    """Mixin: the config holds the keyword-only arguments but `dtype`.

    Each is an attribute of the same name. Goes before the Keras class among
    the bases.
    """

    @classmethod
    def config_names(cls):
        return [
            each.name
            for each in inspect.signature(cls.__init__).parameters.values()
            if each.kind is each.KEYWORD_ONLY and each.name != "dtype"
        ]

    def get_config(self):
        return super().get_config() | {
            name: getattr(self, name) for name in self.config_names()
        }


class ConfiguredLayer(Configured, keras.layers.Layer):
    """Base class of the layers of this package, with layers inside."""

    def _dense(self, units, name, dtype=None):
        """Return a dense layer drawn with this one's `initializer_range`.

        `dtype` None: that of this layer.
        """
        return keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.RandomNormal(
                stddev=self.initializer_range
            ),
            name=name,
            dtype=dtype or self.dtype_policy,
        )

    def _dropout(self, rate, name, dtype=None, **options):
        """Return a dropout layer; `dtype` is as in `_dense`."""
        return dropout.Dropout(
            rate, name=name, dtype=dtype or self.dtype_policy, **options
        )
