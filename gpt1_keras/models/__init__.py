"""GPT-1 as KerasHub classes, and the heads that their presets hold."""

from gpt1_keras.layers.heads import ChoiceHead
from gpt1_keras.layers.heads import SumHead
from gpt1_keras.models.backbone import GPT1Backbone
from gpt1_keras.models.causal_lm import GPT1CausalLM
from gpt1_keras.models.lstm_backbone import LSTMBackbone
from gpt1_keras.models.preprocessors import GPT1CausalLMPreprocessor
from gpt1_keras.models.preprocessors import GPT1TaskPreprocessor
from gpt1_keras.models.preprocessors import GPT1Tokenizer
from gpt1_keras.models.task_model import GPT1TaskModel

__all__ = [
    "ChoiceHead",
    "GPT1Backbone",
    "GPT1CausalLM",
    "GPT1CausalLMPreprocessor",
    "GPT1TaskModel",
    "GPT1TaskPreprocessor",
    "GPT1Tokenizer",
    "LSTMBackbone",
    "SumHead",
]
