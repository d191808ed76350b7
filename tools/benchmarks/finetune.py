"""Examples per second of fine-tuning steps: CoLA, RTE and RACE.

Ours pads batches of similar length to a few lengths and computes RACE's
documents once for all answers. The released code pads every sequence to the
longest of the task, here with the same network and steps; the loss is the
same. `padded` is in bfloat16 like ours, `released` in float32 as the released
code. Give the folder of the official files: `--data`.
"""

import dataclasses
import functools
import types

import keras

from tools.benchmarks import contest
from tools.benchmarks import networks

_DROPOUT = 0.1
_BATCH_SIZE = 32  # the paper's
_ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01}
# Task -> steps in one timing (16 are a whole pool of batches, so that all
# lengths occur); training examples that are drawn; examples per forward pass.
_TASKS = {
    "cola": (16, 4000, None),
    "rte": (16, 1000, None),
    "race": (1, 500, 4),
}
_DTYPES = {"padded": "mixed_bfloat16", "released": "float32"}


def measure(*, sizes, rounds, data=None):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int.
        data: path of the official files; None: generated sample files.
    """
    from gpt1_keras.runs import sources

    files = sources.BenchmarkFiles(data_dir=data)
    found = {"unit": "examples/s", "data": "sample" if data is None else "own"}
    found["tokens_per_example"] = {}
    for name, settings in _TASKS.items():
        contenders = {}
        for kind in (None, *_DTYPES):
            label = f"{name} {kind}" if kind else name
            contenders[label], tokens = _steps(
                name,
                files,
                sizes,
                *settings,
                is_padded=kind is not None,
                dtype=_DTYPES.get(kind, "mixed_bfloat16"),
            )
            found["tokens_per_example"][label] = tokens
        speeds, _ = contest.run(
            contenders,
            rounds=rounds,
            work=settings[0] * _BATCH_SIZE,
            peer_of=name,
        )
        for key, values in speeds.items():
            found[key] = found.get(key, {}) | values
    return found


def _steps(
    name,
    files,
    sizes,
    num_steps,
    num_examples,
    micro_batch_size,
    *,
    is_padded,
    dtype,
):
    """Return a function that runs `num_steps`, and the tokens per example."""
    from gpt1_keras.data import example_batches
    from gpt1_keras.data import examples as examples_lib
    from gpt1_keras.data import loaders
    from gpt1_keras.runs import finetune
    from gpt1_keras.tasks import benchmarks
    from gpt1_keras.training import optimizers

    task, pipeline = benchmarks.benchmark(name), networks.tokenizer()
    training = finetune.FineTuning(
        batch_size=_BATCH_SIZE,
        microbatch_size=micro_batch_size,
        num_epochs=1,
        num_train_examples=None,
        sequence_length=None,
        clip_norm=1.0,
        lm_loss_weight=0.5,
        softmax_over="tokens",
        softmax_chunk=512,
        classifier_dropout=_DROPOUT,
        initializer_range=0.02,
        bucket_lengths=example_batches.BUCKET_LENGTHS,
        pool_batches=1 if is_padded else 16,
        evaluation_batch_size=_BATCH_SIZE,
        num_scored_train_examples=None,
        early_evaluation_steps=(),
        dtype=dtype,
        batches=finetune.encoded_batches,
        share_prefix=not is_padded,
    )
    examples = files.read(task, "train")
    examples = examples_lib.draw_subset(examples, num_examples)
    keras.config.set_dtype_policy(dtype)
    keras.utils.set_random_seed(1)
    network = networks.task_model(name, pipeline, dropout=_DROPOUT, **sizes)
    pretrained = types.SimpleNamespace(
        tokenizer=pipeline,
        num_positions=lambda: network.backbone.max_sequence_length,
        can_share_prefix=lambda: True,
    )
    train = training.labelled(task, pretrained, examples, "train")
    if is_padded:
        longest = int(train.encoded.lengths.max())
        training = dataclasses.replace(training, bucket_lengths=(longest,))
    batches = training.training_batches(train, seed=0)
    trained = training.build_learner(
        network, task, share_prefix=train.share_prefix
    )
    trained.compile(optimizers.AdamWithDecay(learning_rate=1e-4, **_ADAM))

    def steps():
        loaded = loaders.load(batches, first_step=0, num_steps=num_steps)
        trained.fit(loaded, verbose=0, shuffle=False)

    shapes = [batches(step)["token_ids"].shape for step in range(num_steps)]
    computed = sum(functools.reduce(int.__mul__, shape) for shape in shapes)
    return steps, round(computed / num_steps / _BATCH_SIZE)
