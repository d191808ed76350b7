"""The names that gin files may bind, and what they were called before.

A gin file binds the runs and the few objects passed to them by the public
names below. Public names stay when modules move: move a module, and only the
right-hand side changes. To rename something, change its public name and add
the old one to `RENAMED`; every `config.gin` written before then still works
and a run begun under the old name still resumes.
"""

import functools
import importlib
import inspect
import re
import sys

from gpt1_keras import console

# Folder -> the public names defined in its modules.
_DEFINED = {
    "runs": """
        demo.demo evaluate.evaluate export.export finetune.finetune
        generate.generate grid.grid perplexity.perplexity prepare.prepare
        pretrain.pretrain report.report submission.submission view.view
        zero_shot.zero_shot
        sources.BenchmarkFiles sources.Corpus sources.RawText
        finetune.encoded_batches finetune.raw_batches
        presets.Pretrained presets.Scoring pretrain.Sampling pretrain.Training
        finetune.FineTuning perplexity.Scoring zero_shot.Scoring
        zero_shot.ZeroShotTasks export.Options""",
    "models": "builders.gpt1_backbone builders.lstm_backbone",
    "training": """
        fit.Intervals strategy.Devices optimizers.adam_with_decay
        optimizers.WarmupCosine optimizers.WarmupHold
        optimizers.WarmupLinear""",
    "tasks": """
        benchmarks.benchmark benchmarks.of_preset custom.custom
        custom.of_preset zero_shot.task zero_shot.tasks""",
    "evaluation": "held_out.Evaluation",
}
# Public name -> where it is defined now.
PUBLIC = {
    name: f"gpt1_keras.{folder}.{name}"
    for folder, names in _DEFINED.items()
    for name in names.split()
} | {"export.Agreement": "gpt1_keras.serving.verify.Agreement"}

# Former public name -> public name; likewise "name.parameter".
RENAMED = {
    "benchmark_files.BenchmarkFiles": "sources.BenchmarkFiles",
    "corpora.Corpus": "sources.Corpus",
    "corpora.RawText": "sources.RawText",
    "fine_tuned.Scoring": "presets.Scoring",
    "fitting.Intervals": "fit.Intervals",
    "pretrain.Evaluation": "held_out.Evaluation",
    "pretrained.Pretrained": "presets.Pretrained",
    "probes.by_name": "zero_shot.tasks",
    "probes.probe": "zero_shot.task",
    "pretrain.pretrain.probing": "pretrain.pretrain.zero_shot",
    "probing.Probing": "zero_shot.ZeroShotTasks",
    "probing.Probing.probes": "zero_shot.ZeroShotTasks.tasks",
    "probing.Scoring": "zero_shot.Scoring",
    "recipe.FineTuning": "finetune.FineTuning",
    "schedules.WarmupCosine": "optimizers.WarmupCosine",
    "schedules.WarmupLinear": "optimizers.WarmupLinear",
    "serving_options.Options": "export.Options",
    "suite.suite": "grid.grid",
    "training_batches.encoded": "finetune.encoded_batches",
    "training_batches.raw": "finetune.raw_batches",
    "zero_shot.zero_shot.probing": "zero_shot.zero_shot.tasks",
    "export.export.tolerance": "export.Agreement.tolerance",
}
for _function in """pretrain.pretrain pretrain.Training finetune.FineTuning
        recipe.FineTuning""".split():
    RENAMED[f"{_function}.jit_compile"] = "strategy.Devices.jit_compile"
for _name in """batch_size clip_norm dtype microbatch_size num_epochs num_steps
        seed sequence_length softmax_chunk""".split():
    RENAMED[f"pretrain.pretrain.{_name}"] = f"pretrain.Training.{_name}"

# Parameter -> the object whose parameters it takes over in an older file. It
# is bound where a file binds the function but not this parameter.
ADDED = {
    "pretrain.pretrain.training": "pretrain.Training",
    "pretrain.pretrain.devices": "strategy.Devices",
    "finetune.finetune.devices": "strategy.Devices",
    "export.export.agreement": "export.Agreement",
    "grid.grid.training": "finetune.FineTuning",
    "grid.grid.pretrained": "presets.Pretrained",
}

# Former dial -> the parameters that it stood for. Commands and files that
# give one still work: it is bound to those that the run uses.
_FORMER = """\
BUCKET_LENGTHS: finetune.FineTuning.bucket_lengths
    presets.Scoring.bucket_lengths zero_shot.Scoring.bucket_lengths
BUILD_BACKBONE: pretrain.pretrain.build_backbone
CHECKPOINT_STEPS: fit.Intervals.checkpoint_steps
CLASS_WEIGHTS: custom.custom.class_weights
CLASSIFIER_DROPOUT: finetune.FineTuning.classifier_dropout
CLIP_NORM: pretrain.Training.clip_norm finetune.FineTuning.clip_norm
DEV_FRACTION: custom.custom.dev_fraction
EARLY_EVALUATION_STEPS: finetune.FineTuning.early_evaluation_steps
EMBEDDING_DROPOUT_ON: builders.gpt1_backbone.embedding_dropout_on
    builders.lstm_backbone.embedding_dropout_on
EVALUATION_BATCH_SIZE: held_out.Evaluation.batch_size
    finetune.FineTuning.evaluation_batch_size presets.Scoring.batch_size
    perplexity.Scoring.batch_size zero_shot.Scoring.batch_size
EVALUATION_STEPS: fit.Intervals.evaluation_steps
EVALUATION_STRIDE: held_out.Evaluation.stride
EVALUATION_TOKENS: held_out.Evaluation.tokens
FAMILY: custom.custom.family
FINAL_EVALUATION_TOKENS: held_out.Evaluation.final_tokens
FIRST_PROBE_STEP: zero_shot.ZeroShotTasks.first_step
HELD_OUT_FRACTION: sources.Corpus.held_out_fraction
HIGHEST_SCORE: custom.custom.high
JIT_COMPILE: strategy.Devices.jit_compile
LOG_STEPS: fit.Intervals.log_steps
LORA_RANK: presets.Pretrained.lora_rank
LOWEST_SCORE: custom.custom.low
METRIC: custom.custom.metric
MIN_IDENTICAL_TOKENS: export.Agreement.min_identical_tokens
NUM_CHECKPOINTS: fit.Intervals.num_checkpoints
NUM_PROBE_EXAMPLES: zero_shot.Scoring.num_examples
NUM_REPLICAS: strategy.Devices.num_replicas
NUM_SCORED_TRAIN_EXAMPLES: finetune.FineTuning.num_scored_train_examples
NUM_TABLE_PIECES: export.Options.num_table_pieces
NUM_UNITS: builders.lstm_backbone.num_units
NUM_VIEWED: evaluate.evaluate.num_viewed
NUM_WARM_UP: export.export.num_warm_up
PATIENCE: finetune.FineTuning.patience
POOL_BATCHES: finetune.FineTuning.pool_batches
POOL_BOOKS: sources.RawText.pool_books
PROBE: zero_shot.task.name
PROBE_CONSTANTS: report.report.constants
PROBES: zero_shot.tasks.names
REGRESSION: benchmarks.benchmark.regression
SAMPLE_EXAMPLES: sources.BenchmarkFiles.sample_examples
SAMPLE_PROMPT: pretrain.Sampling.prompt
SAMPLE_SEED: sources.Corpus.sample_seed sources.BenchmarkFiles.sample_seed
SAMPLE_STEPS: fit.Intervals.sample_steps
SAMPLE_WORDS: sources.Corpus.sample_words
SOFTMAX_CHUNK: pretrain.Training.softmax_chunk
    finetune.FineTuning.softmax_chunk perplexity.Scoring.softmax_chunk
    zero_shot.Scoring.softmax_chunk
SOFTMAX_OVER: finetune.FineTuning.softmax_over
SPLIT_SEED: sources.Corpus.split_seed custom.custom.seed
TABLE_SPLIT: export.Options.table_split
TASK: benchmarks.benchmark.name
TOKENIZER_TYPE: sources.Corpus.tokenizer_type
TOLERANCE: export.Agreement.tolerance
TPU: strategy.Devices.tpu"""
FORMER_DIALS = {
    dial: tuple(names.split())
    for dial, _, names in (
        entry.partition(": ") for entry in re.split(r"\n(?=[A-Z])", _FORMER)
    )
}

# Dial -> the overlay that it needs.
OVERLAYS = {
    "PROBES": "gin/zero_shot/while_pretraining.gin",
    "ZERO_SHOT_TASKS": "gin/zero_shot/while_pretraining.gin",
}


def find(name):
    """Return the function or class of public `name`, None if there is none."""
    if name not in PUBLIC:
        return None
    module, _, attribute = PUBLIC[name].rpartition(".")
    if module not in sys.modules:
        with console.without_noise():
            importlib.import_module(module)
    return getattr(sys.modules[module], attribute)


def current(name):
    """Return the public name of "function" or "function.parameter"."""
    scope, slash, name = name.rpartition("/")
    function, _, parameter = name.rpartition(".")
    if name not in RENAMED and function in RENAMED:
        return f"{scope}{slash}{RENAMED[function]}.{parameter}"
    return scope + slash + RENAMED.get(name, name)


@functools.cache
def parameters(function):
    """Return {name: `inspect.Parameter`} of a function or class.

    Annotations are evaluated; `checks.Dial` marks stay in them.
    """
    return dict(inspect.signature(function, eval_str=True).parameters)
