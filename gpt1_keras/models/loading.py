"""Mixins that load presets and saved models where KerasHub falls short.

They must precede the KerasHub class in the list of bases.
"""

import threading

import keras
from keras_hub.src.utils import preset_utils


class FromAnyBackbonePreset:
    """Mixin whose `from_preset` also loads subclasses of `backbone_cls`.

    KerasHub looks for a class whose `backbone_cls` is exactly the preset's
    backbone, so an LSTM would need its own tokenizer, preprocessors and tasks,
    although nothing in them would differ.
    """

    _lock = threading.RLock()

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """Load from a preset folder; see KerasHub's method of this name."""
        found = preset_utils.get_preset_loader(preset).check_backbone_class()
        with cls._lock:
            usual = cls.backbone_cls
            if issubclass(found, usual):
                cls.backbone_cls = found
            try:
                return super().from_preset(preset, **kwargs)
            finally:
                cls.backbone_cls = usual


class Task(FromAnyBackbonePreset):
    """Mixin of task models; loading one restores how it was compiled."""

    def compile_from_config(self, config):
        """Compile from a saved config; KerasHub would drop the optimizer.

        A sampler is not saved. Whether to use XLA depends on the machine.
        """
        config = keras.saving.deserialize_keras_object(config)
        self.compile(**config | {"jit_compile": "auto"})
        if self.optimizer is not None:
            self.optimizer.build(self.trainable_variables)
