"""The names that gin files may bind, and what they were called before.

A gin file binds the runs and the few objects passed to them by the public
names below. Public names stay when modules move: move a module, and only the
right-hand side changes. To rename something, change its public name and add
the old one to `RENAMED`; every `config.gin` written before then still works
and a run begun under the old name still resumes.
"""

import importlib
import inspect

# Public name -> where it is defined now.
PUBLIC = {
    # Runs.
    "demo.demo": "gpt1_keras.runs.demo.demo",
    "evaluate.evaluate": "gpt1_keras.runs.evaluate.evaluate",
    "export.export": "gpt1_keras.runs.export.export",
    "finetune.finetune": "gpt1_keras.runs.finetune.finetune",
    "generate.generate": "gpt1_keras.runs.generate.generate",
    "grid.grid": "gpt1_keras.runs.grid.grid",
    "perplexity.perplexity": "gpt1_keras.runs.perplexity.perplexity",
    "prepare.prepare": "gpt1_keras.runs.prepare.prepare",
    "pretrain.pretrain": "gpt1_keras.runs.pretrain.pretrain",
    "report.report": "gpt1_keras.runs.report.report",
    "submission.submission": "gpt1_keras.runs.submission.submission",
    "view.view": "gpt1_keras.runs.view.view",
    "zero_shot.zero_shot": "gpt1_keras.runs.zero_shot.zero_shot",
    # Data.
    "benchmark_files.BenchmarkFiles": (
        "gpt1_keras.runs.sources.BenchmarkFiles"
    ),
    "corpora.Corpus": "gpt1_keras.runs.sources.Corpus",
    "corpora.RawText": "gpt1_keras.runs.sources.RawText",
    "training_batches.encoded": "gpt1_keras.runs.finetune.encoded_batches",
    "training_batches.raw": "gpt1_keras.runs.finetune.raw_batches",
    # Models.
    "builders.gpt1_backbone": "gpt1_keras.models.builders.gpt1_backbone",
    "builders.lstm_backbone": "gpt1_keras.models.builders.lstm_backbone",
    "pretrained.Pretrained": "gpt1_keras.runs.presets.Pretrained",
    # Training.
    "fitting.Intervals": "gpt1_keras.training.fit.Intervals",
    "optimizers.adam_with_decay": (
        "gpt1_keras.training.optimizers.adam_with_decay"
    ),
    "pretrain.Sampling": "gpt1_keras.runs.pretrain.Sampling",
    "pretrain.Training": "gpt1_keras.runs.pretrain.Training",
    "recipe.FineTuning": "gpt1_keras.runs.finetune.FineTuning",
    "schedules.WarmupCosine": "gpt1_keras.training.optimizers.WarmupCosine",
    "schedules.WarmupLinear": "gpt1_keras.training.optimizers.WarmupLinear",
    "strategy.Devices": "gpt1_keras.training.strategy.Devices",
    # Tasks.
    "benchmarks.benchmark": "gpt1_keras.tasks.benchmarks.benchmark",
    "benchmarks.of_preset": "gpt1_keras.tasks.benchmarks.of_preset",
    "custom.custom": "gpt1_keras.tasks.custom.custom",
    "custom.of_preset": "gpt1_keras.tasks.custom.of_preset",
    "probes.by_name": "gpt1_keras.tasks.zero_shot.by_name",
    "probes.probe": "gpt1_keras.tasks.zero_shot.probe",
    # Scoring and serving.
    "export.Agreement": "gpt1_keras.runs.export.Agreement",
    "fine_tuned.Scoring": "gpt1_keras.runs.presets.Scoring",
    "held_out.Evaluation": "gpt1_keras.evaluation.held_out.Evaluation",
    "perplexity.Scoring": "gpt1_keras.runs.perplexity.Scoring",
    "probing.Probing": "gpt1_keras.runs.zero_shot.Probing",
    "probing.Scoring": "gpt1_keras.runs.zero_shot.Scoring",
    "serving_options.Options": "gpt1_keras.runs.export.Options",
}

# Former public name -> public name; likewise "name.parameter".
RENAMED = {
    "pretrain.Evaluation": "held_out.Evaluation",
    "finetune.FineTuning": "recipe.FineTuning",
    "suite.suite": "grid.grid",
    "export.export.tolerance": "export.Agreement.tolerance",
    "pretrain.pretrain.jit_compile": "strategy.Devices.jit_compile",
    "pretrain.Training.jit_compile": "strategy.Devices.jit_compile",
    "recipe.FineTuning.jit_compile": "strategy.Devices.jit_compile",
    "finetune.FineTuning.jit_compile": "strategy.Devices.jit_compile",
    **{
        f"pretrain.pretrain.{name}": f"pretrain.Training.{name}"
        for name in (
            *("batch_size", "clip_norm", "dtype", "microbatch_size"),
            *("num_epochs", "num_steps", "seed", "sequence_length"),
            "softmax_chunk",
        )
    },
}

# Parameter -> the object whose parameters it takes over in an older file. It
# is bound where a file binds the function but not this parameter.
ADDED = {
    "pretrain.pretrain.training": "pretrain.Training",
    "pretrain.pretrain.devices": "strategy.Devices",
    "finetune.finetune.devices": "strategy.Devices",
    "export.export.agreement": "export.Agreement",
    "grid.grid.training": "recipe.FineTuning",
    "grid.grid.pretrained": "pretrained.Pretrained",
}

# Former dial -> parameters, in the order in which they are tried. The dials
# of older files still work in those files; given with --set they are refused
# with the name of the parameter, or with the gin file that has the dial now.
FORMER_DIALS = {
    "BUCKET_LENGTHS": (
        "recipe.FineTuning.bucket_lengths",
        "fine_tuned.Scoring.bucket_lengths",
        "probing.Scoring.bucket_lengths",
    ),
    "BUILD_BACKBONE": ("pretrain.pretrain.build_backbone",),
    "CHECKPOINT_STEPS": ("fitting.Intervals.checkpoint_steps",),
    "CLASSIFIER_DROPOUT": ("recipe.FineTuning.classifier_dropout",),
    "CLIP_NORM": ("pretrain.Training.clip_norm", "recipe.FineTuning.clip_norm"),
    "DEV_FRACTION": ("custom.custom.dev_fraction",),
    "EARLY_EVALUATION_STEPS": ("recipe.FineTuning.early_evaluation_steps",),
    "EMBEDDING_DROPOUT_ON": (
        "builders.gpt1_backbone.embedding_dropout_on",
        "builders.lstm_backbone.embedding_dropout_on",
    ),
    "EVALUATION_BATCH_SIZE": (
        "held_out.Evaluation.batch_size",
        "recipe.FineTuning.evaluation_batch_size",
        "fine_tuned.Scoring.batch_size",
        "perplexity.Scoring.batch_size",
        "probing.Scoring.batch_size",
    ),
    "EVALUATION_STEPS": ("fitting.Intervals.evaluation_steps",),
    "EVALUATION_STRIDE": ("held_out.Evaluation.stride",),
    "EVALUATION_TOKENS": ("held_out.Evaluation.tokens",),
    "FINAL_EVALUATION_TOKENS": ("held_out.Evaluation.final_tokens",),
    "FIRST_PROBE_STEP": ("probing.Probing.first_step",),
    "HELD_OUT_FRACTION": ("corpora.Corpus.held_out_fraction",),
    "HIGHEST_SCORE": ("custom.custom.high",),
    "JIT_COMPILE": ("strategy.Devices.jit_compile",),
    "LOG_STEPS": ("fitting.Intervals.log_steps",),
    "LOWEST_SCORE": ("custom.custom.low",),
    "MIN_IDENTICAL_TOKENS": ("export.Agreement.min_identical_tokens",),
    "NUM_CHECKPOINTS": ("fitting.Intervals.num_checkpoints",),
    "NUM_PROBE_EXAMPLES": ("probing.Scoring.num_examples",),
    "NUM_REPLICAS": ("strategy.Devices.num_replicas",),
    "NUM_SCORED_TRAIN_EXAMPLES": (
        "recipe.FineTuning.num_scored_train_examples",
    ),
    "NUM_TABLE_PIECES": ("serving_options.Options.num_table_pieces",),
    "NUM_UNITS": ("builders.lstm_backbone.num_units",),
    "NUM_VIEWED": ("evaluate.evaluate.num_viewed",),
    "NUM_WARM_UP": ("export.export.num_warm_up",),
    "POOL_BATCHES": ("recipe.FineTuning.pool_batches",),
    "POOL_BOOKS": ("corpora.RawText.pool_books",),
    "PROBE": ("probes.probe.name",),
    "PROBES": "gin/zero_shot/while_pretraining.gin",
    "REGRESSION": ("benchmarks.benchmark.regression",),
    "SAMPLE_PROMPT": ("pretrain.Sampling.prompt",),
    "SAMPLE_SEED": (
        "corpora.Corpus.sample_seed",
        "benchmark_files.BenchmarkFiles.sample_seed",
    ),
    "SAMPLE_STEPS": ("fitting.Intervals.sample_steps",),
    "SAMPLE_WORDS": ("corpora.Corpus.sample_words",),
    "SOFTMAX_CHUNK": (
        "pretrain.Training.softmax_chunk",
        "recipe.FineTuning.softmax_chunk",
        "perplexity.Scoring.softmax_chunk",
        "probing.Scoring.softmax_chunk",
    ),
    "SOFTMAX_OVER": ("recipe.FineTuning.softmax_over",),
    "SPLIT_SEED": ("corpora.Corpus.split_seed", "custom.custom.seed"),
    "TABLE_SPLIT": ("serving_options.Options.table_split",),
    "TASK": ("benchmarks.benchmark.name",),
    "TOKENIZER_TYPE": ("corpora.Corpus.tokenizer_type",),
    "TOLERANCE": ("export.Agreement.tolerance",),
    "TPU": ("strategy.Devices.tpu",),
}


def find(name):
    """Return the function or class of public `name`, None if there is none.

    Raises:
        ImportError: a module that it needs is missing.
    """
    if name not in PUBLIC:
        return None
    module, _, attribute = PUBLIC[name].rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def current(name):
    """Return the public name of "function" or "function.parameter"."""
    scope, slash, name = name.rpartition("/")
    function, _, parameter = name.rpartition(".")
    if name in RENAMED:
        name = RENAMED[name]
    elif function in RENAMED:
        name = f"{RENAMED[function]}.{parameter}"
    return scope + slash + name


def parameters(function):
    """Return {name: `inspect.Parameter`} of a function or class.

    Annotations are evaluated; `checks.Dial` marks stay in them.
    """
    return dict(inspect.signature(function, eval_str=True).parameters)
