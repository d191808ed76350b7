"""CoLA's probe of a preset, on the backend in use.

    KERAS_BACKEND=jax python -m tests.reference.probe_on_backend PRESET DATA FILE

writes to FILE (.npz) its metrics and, of train and dev, the log-probability
and the number of tokens of every sentence.
"""

import pathlib
import sys

import numpy as np

from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.runs import zero_shot
from gpt1_keras.tasks import zero_shot as zero_shot_lib

NAMES = ("log_probability", "num_tokens")


def use(preset, data):
    """Return dict of metrics and scores."""
    task, scored = zero_shot_lib.task("cola"), {}
    measure = task.measure

    def recorded(examples, scores, train=None):
        scored.update(dev=scores, train=train[1])
        return measure(examples, scores, train)

    task.measure = recorded
    tasks = zero_shot.ZeroShotTasks(
        tasks=[task],
        data=sources.BenchmarkFiles(data_dir=data),
        scoring=zero_shot.Scoring(
            batch_size=8, bucket_lengths=(8, 16, 32), softmax_chunk=16
        ),
    )
    measurer = tasks.measurer(
        task,
        presets.load(backbone_lib.GPT1Backbone, preset),
        presets.load_tokenizer(preset),
    )
    found = {name: np.array(value) for name, value in measurer().items()}
    for split, scores in scored.items():
        for name in NAMES:
            found[f"{split}_{name}"] = np.array(
                [getattr(each, name)[0] for each in scores]
            )
    return found


if __name__ == "__main__":
    np.savez(sys.argv[3], **use(*map(pathlib.Path, sys.argv[1:3])))
