"""Strings of a task to the inputs of `GPT1TaskModel`."""

import keras
import keras_hub

from gpt1_keras.data import transforms
from gpt1_keras.models import backbone
from gpt1_keras.models import tokenizer as tokenizer_lib


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1TaskPreprocessor(keras_hub.models.Preprocessor):
    """What a fine-tuned preset knows of its task, and how it reads text.

    Letters: `B` batch, `C` candidates, `T` positions.

    Args:
        tokenizer: a `GPT1Tokenizer`.
        transform: str. Name of a function of `data.transforms`.
        sequence_length: int. Longest sequence.
        task: str. Name of the task.
        label_words: list of str, the classes; empty for choices and scores.
        score_range: list of two numbers for a score, else None.
        is_regression: bool. Whether one logit is the score itself.

    Call arguments:
        x: dict of lists of `B` entries: `text`, and where the task has them
            `text_pair` and `choices` (lists of `C` str); or the list of
            texts alone.

    Returns:
        dict of int32 numpy arrays: `token_ids` `[B, C, T]` and
        `extract_position` `[B, C]`; `T` is the longest sequence.
    """

    backbone_cls = backbone.GPT1Backbone
    tokenizer_cls = tokenizer_lib.GPT1Tokenizer

    def __init__(
        self,
        tokenizer,
        *,
        transform="classification",
        sequence_length=512,
        task="",
        label_words=(),
        score_range=None,
        is_regression=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.tokenizer = tokenizer
        self.transform = transform
        self.sequence_length = sequence_length
        self.task = task
        self.label_words = list(label_words)
        self.score_range = score_range
        self.is_regression = is_regression

    def build(self, input_shape):
        self.built = True

    def call(self, x, y=None, sample_weight=None):
        if not isinstance(x, dict):
            x = {"text": x}
        size = len(x["text"])
        pipeline = self.tokenizer.pipeline
        transform = getattr(transforms, self.transform)
        rows = zip(
            x["text"],
            x.get("text_pair", [""] * size),
            x.get("choices", [()] * size),
            strict=True,
        )
        candidates = [
            transform(
                transforms.ExampleIds(
                    pipeline.encode(text),
                    pipeline.encode(text_pair),
                    tuple(pipeline.encode(choice) for choice in choices),
                ),
                tokenizer=pipeline,
                max_sequence_length=self.sequence_length,
            ).candidates
            for text, text_pair, choices in rows
        ]
        longest = max(len(ids) for each in candidates for ids in each)
        arrays = transforms.pad(candidates, length=longest)
        del arrays["token_weights"]
        return keras.utils.pack_x_y_sample_weight(arrays, y, sample_weight)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "transform": self.transform,
                "sequence_length": self.sequence_length,
                "task": self.task,
                "label_words": self.label_words,
                "score_range": self.score_range,
                "is_regression": self.is_regression,
            }
        )
        return config
