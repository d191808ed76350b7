"""Pretraining: a language model from books (paper, sections 3.1 and 4.1)."""

import dataclasses

import keras
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.evaluation import curves
from gpt1_keras.evaluation import held_out as held_out_lib
from gpt1_keras.models import builders
from gpt1_keras.models import generation
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from gpt1_keras.training import strategy as strategy_lib

_ADVICE = (
    "--gin gin/model/mini.gin or --gin gin/model/tiny.gin as last file, or a "
    "smaller NUM_STEPS"
)
_EXTEND = 'for more updates give a larger NUM_STEPS and "EXTEND = True", or'
_TASK = {"run": "pretrain", "task": "language_model", "split": "held_out"}


@checks.value_object
class Training:
    """How much is trained, on what at a time.

    Attributes:
        batch_size: int. Sequences per update.
        microbatch_size: int or None. Sequences per forward pass on each
            replica; None: all.
        sequence_length: int. Tokens per sequence.
        num_steps: int or None. Updates; None takes `num_epochs`.
        num_epochs: float. Passes over the training books.
        clip_norm: float. Largest norm of the gradient.
        softmax_chunk: int. Tokens whose logits exist at one time.
        seed: int. Weights, dropout and the order of the data.
        dtype: str, Keras dtype policy.
    """

    batch_size: checks.Count
    microbatch_size: checks.NotRecipe[checks.Count | None]
    sequence_length: checks.Length
    num_steps: checks.Count | None
    num_epochs: checks.Positive
    clip_norm: checks.NotNegative
    softmax_chunk: checks.NotRecipe[checks.Count]
    seed: checks.Seed
    dtype: checks.Dtype

    @property
    def tokens_per_step(self):
        """Tokens that one update reads."""
        return self.batch_size * self.sequence_length

    def begin(self, strategy):
        """Check the sizes; set dtype and seed for all that is built now."""
        strategy.check_batch(self.batch_size, self.microbatch_size)
        fit.set_dtype(self.dtype)
        keras.utils.set_random_seed(self.seed)

    def batches(self, shards):
        """Return the training batches of a corpus that is open."""
        return shards.training_batches(
            batch_size=self.batch_size,
            sequence_length=self.sequence_length,
            seed=self.seed,
        )

    def count_steps(self, num_windows):
        """Return the number of updates, given the windows of an epoch."""
        if self.num_steps is not None:
            return self.num_steps
        return max(1, round(self.num_epochs * num_windows / self.batch_size))


def pretrain(
    *,
    workdir,
    config_sha256,
    corpus,
    build_backbone,
    build_optimizer,
    training,
    evaluation,
    sampling: checks.NotRecipe[object],
    intervals: checks.NotRecipe[object],
    paper: checks.NotRecipe[dict],
    probing: checks.NotRecipe[object] = None,
    devices: checks.NotRecipe[object] = strategy_lib.Devices(),
):
    """Train a language model and return the path of its `result.json`.

    Args:
        workdir: pathlib.Path. Where everything is written.
        config_sha256, paper: for the result.
        corpus: `sources.Corpus` or `sources.RawText`: text and vocabulary.
        build_backbone, build_optimizer: functions of `vocabulary_size` and of
            `num_steps`.
        training, evaluation: `Training`, `held_out.Evaluation`.
        sampling, intervals: `Sampling`, `fit.Intervals`.
        probing: `zero_shot.ZeroShotTasks`, zero-shot tasks on the way, or None.
        devices: `strategy.Devices`.
    """
    if results.is_finished(workdir, config_sha256, _EXTEND):
        return results.path(workdir)
    strategy = devices.open()
    training.begin(strategy)
    strategy.check_share("Evaluation.batch_size", evaluation.batch_size)
    workdir = strategy.workdir(workdir)
    if probing is not None:
        probing.read()
    shards, tokenizer = corpus.open()
    train = training.batches(shards)
    num_steps = training.count_steps(train.num_windows)
    with strategy.scope():
        network = build_backbone(vocabulary_size=tokenizer.vocabulary_size)
        learner = _build_learner(
            network, build_optimizer, training, devices, num_steps
        )
    causal_lm = builders.gpt1_causal_lm(network, tokenizer)
    held_out = held_out_lib.HeldOut(
        evaluation, shards, learner, training.sequence_length
    )
    sample = sampling.recorder(causal_lm, tokenizer, strategy)
    _log_sizes(network, shards, training, num_steps)
    periodic = [
        (intervals.evaluation_steps, held_out.record_until(num_steps)),
        (intervals.sample_steps, sample),
    ]
    if probing is not None:
        recorder = probing.recorder(network, tokenizer)
        periodic.append((probing.steps(num_steps), recorder))
    history = fit.fit(
        learner,
        train,
        workdir=workdir,
        num_steps=num_steps,
        tokens_per_step=training.tokens_per_step,
        intervals=intervals,
        periodic=periodic,
        strategy=strategy,
        advice=_ADVICE,
    )
    return _finish(
        workdir,
        causal_lm,
        history,
        metrics=held_out.final(history, num_steps),
        amounts=(network, training, num_steps),
        paper=paper,
        config_sha256=config_sha256,
    )


def _finish(workdir, causal_lm, history, *, metrics, amounts, **facts):
    """Write preset, learning curve and result."""
    presets.save(causal_lm, workdir / "preset")
    curves.plot_perplexities(
        [(str(workdir), "-", results.read_metrics(history.path))],
        workdir / "plots" / "learning_curve.png",
    )
    return results.write(
        workdir,
        **_TASK,
        metrics=metrics,
        seconds=history.seconds,
        **_amounts(*amounts, metrics),
        **facts,
    )


def _amounts(network, training, num_steps, metrics):
    """Return what the result says of how much was learnt and measured."""
    return {
        "num_examples": metrics.get("tokens", 0),
        "seed": training.seed,
        "num_steps": num_steps,
        "tokens_seen": num_steps * training.tokens_per_step,
        "parameters": network.count_params(),
    }


def _build_learner(network, build_optimizer, training, devices, num_steps):
    if training.sequence_length > network.max_sequence_length:
        raise errors.InputError(
            f"`sequence_length` {training.sequence_length} is more than the "
            f"model's {network.max_sequence_length} positions: lower it"
        )
    language_model = losses.LanguageModelLoss(chunk_size=training.softmax_chunk)
    learner = learner_lib.Learner(
        task_model.GPT1TaskModel(network),
        loss=language_model,
        scorer=language_model,
        clip_norm=training.clip_norm,
        micro_batch_size=training.microbatch_size,
    )
    learner.compile(
        build_optimizer(num_steps=num_steps), jit_compile=devices.jit_compile
    )
    return learner


def _log_sizes(network, shards, training, num_steps):
    logging.info(
        "%s parameters, %s tokens of vocabulary, %s training tokens, %s "
        "updates of %s x %s",
        f"{network.count_params():,}",
        f"{network.vocabulary_size:,}",
        f"{int(shards.split('train').lengths.sum()):,}",
        f"{num_steps:,}",
        training.batch_size,
        training.sequence_length,
    )


@checks.value_object
class Sampling:
    """How a paragraph is written now and then.

    Attributes:
        prompt: str.
        num_tokens: int, cut to the model's positions.
        top_k: int.
        temperature: float.
    """

    prompt: str
    num_tokens: checks.Count
    top_k: checks.Count
    temperature: checks.Positive

    def recorder(self, causal_lm, tokenizer, strategy):
        """Return `function(step, history)` that writes and records one."""
        length = causal_lm.backbone.max_sequence_length
        options = dataclasses.asdict(self)
        options["num_tokens"] = min(self.num_tokens, length)

        def record(step, history):
            with strategy.single_device():
                text = generation.sample_text(
                    causal_lm, tokenizer, **options, seed=step
                )
            history.write(step, sample=text)
            logging.info("sample after step %d: %s", step, text)

        return record
