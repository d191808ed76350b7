"""A fine-tuned model from its preset, to score examples with."""

import dataclasses

import numpy as np

from gpt1_keras import dials
from gpt1_keras import errors
from gpt1_keras.models import task_model
from gpt1_keras.runs import fitting
from gpt1_keras.runs import labelled
from gpt1_keras.runs import presets
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import signals


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scoring:
    """How examples are scored.

    Attributes:
        batch_size: int. Examples per forward pass.
        bucket_lengths: ints. Lengths that batches are padded to.
        dtype: str, Keras dtype policy.
    """

    batch_size: int
    bucket_lengths: tuple
    dtype: str

    def __post_init__(self):
        dials.check_count("EVALUATION_BATCH_SIZE", self.batch_size)
        dials.check_counts("BUCKET_LENGTHS", self.bucket_lengths)


class FineTuned:
    """The network of a fine-tuning run and what it knows of its task.

    Args:
        preset: path of the run's workdir or of its `preset/`.
        scoring: `Scoring`.

    Attributes:
        network: the `GPT1TaskModel`.
        preprocessor: its `GPT1TaskPreprocessor`: task, words, tokenizer.
        directory: path of the preset.
    """

    def __init__(self, preset, scoring):
        fitting.set_dtype(scoring.dtype)
        self.directory = presets.find_best(preset)
        self._scoring = scoring
        network = presets.load(
            task_model.GPT1TaskModel, self.directory, dtype=scoring.dtype
        )
        if network.head is None:
            raise errors.InputError(
                f"PRESET {self.directory} has no head: it is pretrained, not "
                "fine-tuned; give the workdir of a fine-tuning run"
            )
        self.network = network
        self.preprocessor = network.preprocessor
        self._learner = learner_lib.Learner(network)

    def labelled(self, task, examples, split):
        """Return `labelled.Labelled` examples, labels known or not.

        Raises:
            InputError: the model is of another kind of task.
        """
        ours = self.preprocessor
        was = _kind(ours.transform, ours.label_words, ours.score_range)
        target = task.target
        wanted = _kind(
            task.transform.__name__, target.words, target.score_range
        )
        if was != wanted:
            raise errors.InputError(
                f"PRESET {self.directory} was fine-tuned on {ours.task} "
                f"({was}), but {task.name} is {wanted}: give a model of it"
            )
        return labelled.Labelled(
            task,
            examples,
            tokenizer=self.preprocessor.tokenizer.pipeline,
            max_sequence_length=self.preprocessor.sequence_length,
            batch_size=self._scoring.batch_size,
            bucket_lengths=self._scoring.bucket_lengths,
            name=f"{task.name} {split}",
        )

    def logits(self, examples):
        """Return logits `[N, Y]` of `labelled.Labelled` examples.

        Raises:
            Stopped: on SIGTERM or Ctrl-C.
        """
        with signals.catch() as stop:
            return np.asarray(examples.logits(self._learner, stop))


def _kind(transform, words, score_range):
    """Return in words what a model must have in common with its task."""
    kind = transform.replace("_", " ")
    if score_range is not None:
        return f"{kind} with a score"
    return f"{kind} with labels {', '.join(words)}" if words else kind
