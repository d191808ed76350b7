"""Strings to padded ids for `GPT1CausalLM`, and back."""

import keras
import keras_hub

from gpt1_keras.models import any_backbone
from gpt1_keras.models import backbone
from gpt1_keras.models import tokenizer


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1CausalLMPreprocessor(
    any_backbone.OfAnyBackbone, keras_hub.models.CausalLMPreprocessor
):
    """KerasHub's preprocessor without start and end tokens.

    GPT-1 was pretrained on contiguous text, in which no such token occurs.

    Args:
        tokenizer: a `GPT1Tokenizer`.
        sequence_length: int. Length to which ids are padded.
    """

    backbone_cls = backbone.GPT1Backbone
    tokenizer_cls = tokenizer.GPT1Tokenizer

    def __init__(
        self,
        tokenizer,
        sequence_length=512,
        add_start_token=False,
        add_end_token=False,
        **kwargs,
    ):
        super().__init__(
            tokenizer=tokenizer,
            sequence_length=sequence_length,
            add_start_token=add_start_token,
            add_end_token=add_end_token,
            **kwargs,
        )
