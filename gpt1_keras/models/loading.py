"""Mixins that save and load presets and models where KerasHub falls short.

They must precede the KerasHub class in the list of bases.
"""

import json
import pathlib
import threading

import keras
from keras_hub.src.utils import preset_utils


class ToPreset:
    """Mixin whose presets name float32 in place of a mixed dtype policy.

    KerasHub cannot load a mixed one. The weights are float32 in both.
    """

    def save_to_preset(self, preset_dir, **options):
        """Write a preset folder; see KerasHub's method of this name."""
        super().save_to_preset(preset_dir, **options)
        for path in pathlib.Path(preset_dir).glob("*.json"):
            text = path.read_text(encoding="utf-8")
            config = json.loads(text, object_hook=_unmixed)
            if config != json.loads(text):
                text = json.dumps(config, indent=4)
                path.write_text(text, encoding="utf-8")


def _unmixed(config):
    is_policy = config.get("class_name") == "DTypePolicy"
    if is_policy and config["config"]["name"].startswith("mixed_"):
        return config | {"config": {"name": "float32"}}
    return config


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


class Task(ToPreset, FromAnyBackbonePreset):
    """Mixin of task models; loading one restores how it was compiled."""

    def compile_from_config(self, config):
        """Compile from a saved config; KerasHub would drop the optimizer.

        A sampler is not saved. Whether to use XLA depends on the machine.
        """
        config = keras.saving.deserialize_keras_object(config)
        self.compile(**config | {"jit_compile": "auto"})
        if self.optimizer is not None:
            self.optimizer.build(self.trainable_variables)
