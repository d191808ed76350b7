"""The same training on several devices and on one, in processes of their own.

python -m tests.reference.replicas FILE '{"strategy": "mirrored", ...}'
"""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
from keras import ops

from gpt1_keras.data import loaders
from gpt1_keras.training import strategy as strategy_lib
from tests.reference import cluster
from tests.reference import tiny_learner
from tests.reference.processes import ROOT

NUM_STEPS = 10
BATCH_SIZE = 8
TASKS = ("pretraining", "fine-tuning")
QUANTITIES = ("losses", "norms", "gradients", "weights", "scores")


def train(*, strategy, replicas, dropout, double, batch_size, micro_batch_size):
    """Train both tasks on several devices; return `{task/quantity: array}`.

    `double`: the second half of every batch repeats the first.
    """
    devices = strategy_lib.Devices(
        strategy_name=strategy, num_replicas=replicas
    ).open()
    found = {}
    for task, build, batches in (
        (TASKS[0], tiny_learner.language_model, tiny_learner.Batches),
        (TASKS[1], tiny_learner.chooser, tiny_learner.LabelledBatches),
    ):
        with devices.scope():
            learner = build(
                dropout=dropout,
                micro_batch_size=micro_batch_size,
                # So small that every step is clipped.
                clip_norm=0.05,
                learning_rate=0.003,
            )
        made = batches(batch_size=batch_size // (2 if double else 1))
        if double:
            made = Doubled(made)
        values = _train_one(learner, made)
        found |= {f"{task}/{name}": value for name, value in values.items()}
    return found


class Doubled:
    """Batches of which the second half repeats the first."""

    def __init__(self, batches):
        self._batches = batches

    @property
    def spec(self):
        spec = self._batches.spec.items()
        return {k: ((2 * n, *rest), dtype) for k, ((n, *rest), dtype) in spec}

    def __call__(self, step):
        batch = self._batches(step)
        return {name: np.concatenate([x, x]) for name, x in batch.items()}


def _train_one(learner, batches):
    losses, norms = [], []

    def keep(batch, logs):
        losses.append(float(logs["loss"]))
        norms.append(float(logs["gradient_norm"]))

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=keep)
    loaded = loaders.load(batches, first_step=0, num_steps=NUM_STEPS)
    learner.fit(
        loaded, epochs=1, verbose=0, shuffle=False, callbacks=[callback]
    )
    loaded = loaders.load(batches, first_step=90, num_steps=3)
    scores = learner.predict(loaded, verbose=0)
    if "logits" in scores:
        scores["logits"] -= scores["logits"].mean(axis=1, keepdims=True)

    def values(variables):
        paths = [weight.path for weight in learner.trainable_variables]
        arrays = map(ops.convert_to_numpy, variables)
        return np.concatenate([*map(tiny_learner.asymmetric, paths, arrays)])

    states = [
        ops.convert_to_numpy(variable).astype("int64")
        for variable in learner.non_trainable_variables
        if variable.name == "seed_generator_state"
    ]
    return {
        "losses": np.array(losses),
        "norms": np.array(norms),
        # Adam's momentum is the mean of the clipped gradients.
        "gradients": values(learner.optimizer._momentums),
        "weights": values(learner.trainable_variables),
        "scores": np.concatenate([scores[key].ravel() for key in scores]),
        "states": np.array(states),
    }


def run(path, backend, strategy, replicas, **options):
    """Train in processes of their own; return what the first one wrote."""
    options = {
        **{"strategy": strategy, "replicas": replicas, "dropout": 0.0},
        **{"double": False, "batch_size": BATCH_SIZE},
    } | options
    examples = 2 if replicas > 1 else options["batch_size"]
    options.setdefault("micro_batch_size", examples)
    environment = os.environ | {"KERAS_BACKEND": backend}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if backend == "jax":
        flag = f"--xla_force_host_platform_device_count={replicas}"
        environment["XLA_FLAGS"] = flag
    command = [sys.executable, "-m", "tests.reference.replicas"]
    workers = [{}]
    if strategy == "multi_worker":
        workers = cluster.environments(replicas)
    paths = [pathlib.Path(f"{path}_{i}.npz") for i in range(len(workers))]
    processes = [
        subprocess.Popen(
            [*command, str(own), json.dumps(options)],
            cwd=ROOT,
            env=environment | worker,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for own, worker in zip(paths, workers)
    ]
    for process in processes:
        _, complaints = process.communicate(timeout=600)
        if process.returncode:
            raise RuntimeError(f"exit {process.returncode}: {complaints}")
    return dict(np.load(paths[0]))


if __name__ == "__main__":
    np.savez(sys.argv[1], **train(**json.loads(sys.argv[2])))
