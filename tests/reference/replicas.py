"""The same training on several devices and on one, in processes of their own.

    python -m tests.reference.replicas FILE '{"strategy": "mirrored", ...}'

trains a language model and a labelled task in this process for ten steps and
writes losses, gradient norms, clipped gradients, weights and scores.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np

from tests.reference import cluster
from tests.reference.processes import ROOT

NUM_STEPS = 10
BATCH_SIZE = 8
LIMIT = 1e-6


TASKS = ("pretraining", "fine-tuning")
QUANTITIES = ("losses", "norms", "gradients", "weights", "scores")


def train(devices, *, dropout, double, batch_size, micro_batch_size):
    """Train both tasks on the devices; return `{task/quantity: array}`."""
    # Not at the top: the backend is chosen by the process.
    from tests.reference import tiny_learner

    strategy = devices.open()
    found = {}
    for task, build, batches in (
        (TASKS[0], tiny_learner.language_model, tiny_learner.Batches),
        (TASKS[1], tiny_learner.chooser, tiny_learner.LabelledBatches),
    ):
        with strategy.scope():
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
    import keras
    from keras import ops

    from gpt1_keras.data import loaders
    from tests.reference import tiny_learner

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
        pairs = zip(learner.trainable_variables, variables)
        return np.concatenate(
            [
                tiny_learner.asymmetric(
                    weight.path, ops.convert_to_numpy(value)
                )
                for weight, value in pairs
            ]
        )

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


def run(
    path,
    backend,
    strategy,
    replicas,
    *,
    dropout=0.0,
    double=False,
    batch_size=BATCH_SIZE,
    micro_batch_size=None,
):
    """Train in processes of their own; return what the first one wrote.

    Args:
        double: bool. The second half of every batch repeats the first.
        micro_batch_size: int or None. Examples per forward pass on each
            replica; None: 2 on several, all on one.
    """
    if micro_batch_size is None:
        micro_batch_size = 2 if replicas > 1 else batch_size
    environment = os.environ | {"KERAS_BACKEND": backend}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if backend == "jax":
        flag = f"--xla_force_host_platform_device_count={replicas}"
        environment["XLA_FLAGS"] = flag
    options = {
        **{"strategy": strategy, "replicas": replicas, "dropout": dropout},
        **{"double": double, "batch_size": batch_size},
        "micro_batch_size": micro_batch_size,
    }
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


def differences(one, several):
    """Return `{task: {quantity: largest difference}}`.

    What is larger than 1, such as the score of a sequence, by its size.
    """

    def largest(key):
        ours, theirs = one[key], several[key]
        assert ours.shape == theirs.shape and np.isfinite(ours).all()
        return float((abs(ours - theirs) / np.maximum(1, abs(ours))).max())

    return {
        task: {name: largest(f"{task}/{name}") for name in QUANTITIES}
        for task in TASKS
    }


def assert_equal_to_one_device(directory, backend, strategies):
    """The replicas of (strategy, number) learn what one device learns."""
    one = run(directory / "one", backend, "none", 1)
    for strategy, count in strategies:
        path = directory / f"{strategy}_{count}"
        several = run(path, backend, strategy, count)
        found = differences(one, several)
        print(backend, strategy, count, found)
        for task in TASKS:
            assert max(found[task].values()) <= LIMIT
            # Every step is clipped, and each changes the weights.
            assert one[f"{task}/norms"].min() > 0.05
            assert len(set(one[f"{task}/losses"])) == NUM_STEPS


def assert_own_dropout(directory, backend, strategy):
    """Two replicas read the same rows and lose different units.

    With the same masks on both, their losses would be those of one device
    that reads the rows once.
    """
    share = BATCH_SIZE // 2
    for dropout in (0.0, 0.5):
        options = {"dropout": dropout, "batch_size": share}
        once = run(directory / f"once_{dropout}", backend, "none", 1, **options)
        options = {"dropout": dropout, "micro_batch_size": share}
        twice = run(
            *(directory / f"twice_{dropout}", backend, strategy, 2),
            **options,
            double=True,
        )
        for task in TASKS:
            first, second = (x[f"{task}/losses"][0] for x in (once, twice))
            if dropout:
                assert abs(first - second) > 1e-3
                # One state for all in a checkpoint: that of one device.
                states = once[f"{task}/states"]
                np.testing.assert_array_equal(twice[f"{task}/states"], states)
                assert states.shape[1] == 2 and len(states) > 3
            else:
                assert abs(first - second) < 1e-6


def main(path, options):
    from gpt1_keras.training import strategy as strategy_lib

    given = json.loads(options)
    devices = strategy_lib.Devices(
        strategy_name=given.pop("strategy"), num_replicas=given.pop("replicas")
    )
    np.savez(path, **train(devices, **given))


if __name__ == "__main__":
    main(*sys.argv[1:])
