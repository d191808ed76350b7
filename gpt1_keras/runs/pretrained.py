"""The preset that fine-tuning, probing and generation begin with."""

import functools

from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import transfer
from gpt1_keras.runs import presets


class Pretrained:
    """A KerasHub preset of a backbone and its tokenizer.

    Args:
        preset: path of the preset, as a pretraining run leaves it in
            `preset/`, or None for the model that comes with the program.
        num_transferred_layers: see `models.transfer`.
        dropout: float. Rate of embedding, attention and residual dropout, in
            place of the one in pretraining.
    """

    def __init__(self, *, preset, num_transferred_layers, dropout):
        self.preset = preset
        self.num_transferred_layers = num_transferred_layers
        self.dropout = dropout

    def changed(self, **values):
        """Return the same with other `values` of the arguments."""
        arguments = {
            "preset": self.preset,
            "num_transferred_layers": self.num_transferred_layers,
            "dropout": self.dropout,
        }
        return Pretrained(**arguments | values)

    @functools.cached_property
    def directory(self):
        """The path of the preset; there is one."""
        return presets.find(self.preset)

    def tokenizer(self):
        """Return the `text.tokenizer.Tokenizer` of the preset."""
        return presets.load_tokenizer(self.directory)

    def num_positions(self):
        """Return the longest sequence that the preset reads."""
        return presets.backbone_config(self.directory)["max_sequence_length"]

    def backbone(self):
        """Return a new backbone with special rows and the weights asked for.

        Built under the global dtype policy; what the preset does not give is
        drawn from the global seed.
        """
        source = presets.load(backbone_lib.GPT1Backbone, self.directory)
        rates = {
            name: self.dropout
            for name in source.get_config()
            if name.endswith("_dropout")
        }
        backbone = transfer.transferred_backbone(
            source,
            num_transferred_layers=self.num_transferred_layers,
            num_special_tokens=3,
            **rates,
        )
        del source
        return backbone
