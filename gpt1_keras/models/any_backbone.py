"""Presets of every kind of backbone under the same classes."""

import threading

from keras_hub.src.utils import preset_utils

_LOCK = threading.RLock()


class OfAnyBackbone:
    """`from_preset` that takes a subclass of `backbone_cls`, too.

    KerasHub looks for a class whose `backbone_cls` is the preset's own, so
    that an LSTM would need tokenizer, preprocessors and tasks of its own,
    though nothing in them differs. Stands before KerasHub's class among the
    bases.
    """

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """As KerasHub's, see there."""
        found = preset_utils.get_preset_loader(preset).check_backbone_class()
        usual = cls.backbone_cls
        if found is usual or not issubclass(found, usual):
            return super().from_preset(preset, **kwargs)
        with _LOCK:
            cls.backbone_cls = found
            try:
                return super().from_preset(preset, **kwargs)
            finally:
                cls.backbone_cls = usual
