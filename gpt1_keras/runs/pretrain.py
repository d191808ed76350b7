"""Pretraining of a language model on books (paper, sections 3.1 and 4.1)."""

import dataclasses
import typing

import keras
from absl import logging

from gpt1_keras import checks
from gpt1_keras import files
from gpt1_keras import precision
from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import held_out as held_out_lib
from gpt1_keras.evaluation import plots
from gpt1_keras.models import builders
from gpt1_keras.models import generation
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from gpt1_keras.training import strategy as strategy_lib


@checks.value_object
class Training:
    """Batch sizes, duration and precision of pretraining."""

    batch_size: checks.Count  # sequences per step
    # Sequences per forward pass on each replica; None: all.
    microbatch_size: checks.NotRecipe[checks.Count | None]
    sequence_length: checks.Length  # tokens
    num_steps: checks.Count | None  # None: `num_epochs`
    num_epochs: checks.Positive  # passes over the training books
    clip_norm: checks.NotNegative  # largest norm of the gradient
    softmax_chunk: checks.SoftmaxChunk
    seed: checks.Seed  # of weights, dropout and the order of the data
    dtype: checks.Dtype
    # Share of the sequences whose first part is repeated to their end.
    repeated_share: checks.Share = 0.0


@checks.value_object
class Sampling:
    """How sample texts are generated during pretraining."""

    prompt: str
    num_tokens: checks.Count  # at most the model's positions
    top_k: checks.Count
    temperature: checks.Positive


def pretrain(
    *,
    workdir,
    config_sha256,
    corpus: sources.Corpus | sources.RawText,
    build_backbone: checks.BackboneBuilder | None,
    build_optimizer: checks.OptimizerBuilder,
    training: Training,
    evaluation: held_out_lib.Evaluation,
    sampling: checks.NotRecipe[Sampling],
    intervals: checks.NotRecipe[fit.Intervals],
    paper: checks.NotRecipe[checks.Numbers],
    pretrained: presets.Pretrained | None = None,
    zero_shot: checks.NotRecipe[typing.Any] = None,
    devices: checks.NotRecipe[strategy_lib.Devices] = strategy_lib.Devices(),
):
    """Train a language model and return the path of its `result.json`.

    With `pretrained`, the preset's network is trained further, with its
    vocabulary; otherwise a new one from `build_backbone`. `zero_shot` has the
    `zero_shot.ZeroShotTasks` to measure during training, or is None.
    """
    if presets.is_finished(workdir, config_sha256):
        return results.path(workdir)
    strategy = devices.open()
    strategy.check_batch(training.batch_size, training.microbatch_size)
    strategy.check_share("Evaluation.batch_size", evaluation.batch_size)
    precision.set_dtype(training.dtype)
    keras.utils.set_random_seed(training.seed)
    workdir = strategy.workdir(workdir)
    if zero_shot is not None:
        # Loaded late: pretraining needs no tasks.
        from gpt1_keras.runs import zero_shot as zero_shot_lib

        checks.check("zero_shot", zero_shot, zero_shot_lib.ZeroShotTasks)
        strategy.check_share(
            "zero_shot.Scoring.batch_size", zero_shot.scoring.batch_size
        )
        zero_shot.read()
    shards, tokenizer = corpus.open(pretrained and pretrained.tokenizer)
    batches = shards.training_batches(
        batch_size=training.batch_size,
        sequence_length=training.sequence_length,
        seed=training.seed,
        repeated_share=training.repeated_share,
    )
    tokens_per_step = training.batch_size * training.sequence_length
    windows = training.num_epochs * batches.num_windows
    of_epochs = max(1, round(windows / training.batch_size))
    num_steps = training.num_steps or of_epochs
    with strategy.scope():
        if pretrained is None:
            network = build_backbone(vocabulary_size=tokenizer.vocabulary_size)
        else:
            network = pretrained.backbone(num_special_tokens=0)
        positions = network.max_sequence_length
        presets.check_length(training.sequence_length, positions)
        loss = losses.LanguageModelLoss(chunk_size=training.softmax_chunk)
        learner = learner_lib.Learner(
            task_model.GPT1TaskModel(network),
            loss=loss,
            scorer=loss,
            clip_norm=training.clip_norm,
            micro_batch_size=training.microbatch_size,
        )
        optimizer = build_optimizer(num_steps=num_steps)
        learner.compile(optimizer, jit_compile=devices.jit_compile)
    causal_lm = builders.gpt1_causal_lm(network, tokenizer)
    held_out = held_out_lib.HeldOut(
        evaluation, shards, learner, training.sequence_length, num_steps
    )
    logging.info(
        f"{network.count_params():,} parameters, vocabulary of"
        f" {network.vocabulary_size:,},"
        f" {shards.split('train').lengths.sum():,} training tokens,"
        f" {num_steps:,} steps of {training.batch_size} x"
        f" {training.sequence_length} tokens"
    )
    options = dataclasses.asdict(sampling)
    options["num_tokens"] = min(sampling.num_tokens, positions)

    def sample(step, history):
        with strategy.single_device():
            text = generation.sample_text(
                causal_lm, tokenizer, **options, seed=step
            )
        history.write(step, sample=text)
        logging.info("sample after step %d: %s", step, text)

    periodic = [
        (intervals.evaluation_steps, held_out.record),
        (intervals.sample_steps, sample),
    ]
    if zero_shot is not None:
        recorder = zero_shot.recorder(network, tokenizer)
        periodic.append((zero_shot.steps(num_steps), recorder))
    lengths = [shards.split(name).lengths for name in ("train", "held_out")]
    lengths = files.sha256_of_json([each.tolist() for each in lengths])
    inputs = {"corpus": lengths, "vocabulary": tokenizer.sha256}
    inputs["books"] = shards.sha256()
    if pretrained is not None:
        inputs["preset"] = presets.sha256(pretrained.directory)
    results.check_inputs(workdir / "corpus.json", inputs)
    history = fit.fit(
        learner,
        batches,
        workdir=workdir,
        num_steps=num_steps,
        tokens_per_step=tokens_per_step,
        flops_per_token=network.flops_per_token(training.sequence_length),
        intervals=intervals,
        periodic=periodic,
        strategy=strategy,
    )
    metrics = held_out.final(history)
    facts = {"backbone": type(network).__name__}
    if strategy.is_chief:
        preset = workdir / "preset"
        presets.save(causal_lm, preset, step=num_steps, metrics=metrics)
        presets.read_back(type(causal_lm), preset, step=num_steps)
        lines = results.read_metrics(history.path)
        curve = workdir / "plots" / "learning_curve.png"
        plots.perplexities([comparison.Run(workdir, facts, lines=lines)], curve)
    return results.write(
        workdir,
        run="pretrain",
        task="language_model",
        split="held_out",
        metrics=metrics,
        paper=paper,
        num_examples=metrics.get("tokens", 0),
        seed=training.seed,
        config_sha256=config_sha256,
        seconds=history.seconds,
        num_steps=num_steps,
        tokens_seen=num_steps * tokens_per_step,
        parameters=network.count_params(),
        num_layers=network.num_layers,
        **facts,
    )
