"""Base classes whose Keras config is taken from their signature."""

import inspect

import keras

from gpt1_keras.layers import dropout


class Configured:
    """Mixin whose config holds the keyword-only arguments except `dtype`.

    Each of them must be an attribute of the same name (`keep`). The mixin must
    precede the Keras class in the list of bases.
    """

    @classmethod
    def config_names(cls):
        # A subclass in another package extends `get_config` itself.
        package = __name__.partition(".")[0] + "."
        ours = next(c for c in cls.__mro__ if c.__module__.startswith(package))
        names = inspect.getfullargspec(ours.__init__).kwonlyargs
        return [name for name in names if name != "dtype"]

    def keep(self, arguments):
        """Make the arguments of `__init__`, its `locals()`, attributes."""
        for name in self.config_names():
            setattr(self, name, arguments[name])

    def get_config(self):
        return super().get_config() | {
            name: getattr(self, name) for name in self.config_names()
        }


class ConfiguredLayer(Configured, keras.layers.Layer):
    """Base class of this package's layers that contain layers."""

    def _normal(self):
        return keras.initializers.RandomNormal(stddev=self.initializer_range)

    def _dense(self, units, name):
        return keras.layers.Dense(
            units,
            kernel_initializer=self._normal(),
            name=name,
            dtype=self.dtype_policy,
        )

    def _dropout(self, rate, name, dtype=None, **options):
        """Return a dropout layer; `dtype` None means that of this layer."""
        return dropout.Dropout(
            rate, name=name, dtype=dtype or self.dtype_policy, **options
        )
