"""What the demonstration page shows of a model."""

import keras
import keras_hub
import numpy as np
from keras import ops
from scipy import special

from gpt1_keras.models import causal_lm
from gpt1_keras.models import inspection
from gpt1_keras.models import streaming
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.tasks.probes import fitting as probe_fitting


class TaskAnswers:
    """A fine-tuned model that is asked about one example at a time.

    Args:
        preset: pathlib.Path of the preset.

    Attributes:
        task: str.
        inputs: names of what it reads: "text", "text_pair", "choices".
        is_score: bool, whether it answers with a number.
    """

    def __init__(self, preset):
        self._network = presets.load(task_model.GPT1TaskModel, preset)
        ours = self._preprocessor = self._network.preprocessor
        self.task = ours.task
        self.is_score = ours.score_range is not None
        self.inputs = {
            "classification": ("text",),
            "multiple_choice": ("text", "text_pair", "choices"),
        }.get(ours.transform, ("text", "text_pair"))

    def __call__(self, text, text_pair="", choices=()):
        """Return dict from a label to its probability; of a score a float.

        Args:
            text, text_pair: str.
            choices: list of str, at least one where it reads choices.
        """
        given = {"text": [text], "text_pair": [text_pair]}
        if "choices" in self.inputs:
            given["choices"] = [list(choices)]
        (logits,) = ops.convert_to_numpy(
            self._network(self._preprocessor(given))["logits"]
        )
        if self._preprocessor.is_regression:
            return float(np.clip(logits[0], *self._preprocessor.score_range))
        shares = special.softmax(logits.astype("float64"))
        if self.is_score:
            low, high = self._preprocessor.score_range
            return float(shares @ np.arange(low, high + 1))
        labels = self._preprocessor.label_words or [
            f"{i}: {choice}" for i, choice in enumerate(choices)
        ]
        return dict(zip(labels, shares.tolist(), strict=True))


class LanguageModelAnswers:
    """A language model that reads a text and goes on with it.

    Args:
        preset: pathlib.Path of the preset.
        seed: int, of what it writes.
    """

    def __init__(self, preset, seed):
        self._network = presets.load(causal_lm.GPT1CausalLM, preset)
        self._tokenizer = self._network.preprocessor.tokenizer.pipeline
        self._length = self._network.backbone.max_sequence_length
        self._opening = probe_fitting.opening(self._tokenizer)
        self._seed = seed

    def tokens(self, text):
        """Return the tokens of a text, each with its log-probability.

        Args:
            text: str; what is beyond the positions of the model is left out.

        Returns:
            list of (str, float).
        """
        ids = self._tokenizer.encode(text)[: self._length]
        if not ids:
            return []
        found = inspection.log_probabilities(
            self._network, ids, before=self._opening
        )
        pieces = [self._tokenizer.piece(index) for index in ids]
        return list(zip(pieces, found.tolist(), strict=True))

    def continued(self, text, num_tokens, temperature):
        """Yield a text that grows by one token at a time.

        Args:
            text: str.
            num_tokens: int.
            temperature: float, above 0.
        """
        ids = self._tokenizer.encode(text) or [self._opening]
        sampler = keras_hub.samplers.TopKSampler(
            k=min(40, self._tokenizer.vocabulary_size),
            temperature=temperature,
            seed=self._seed,
        )
        keras.utils.set_random_seed(self._seed)
        for token in streaming.stream(
            self._network, list(ids), sampler, num_tokens=num_tokens
        ):
            ids.append(token)
            yield self._tokenizer.decode(ids)
