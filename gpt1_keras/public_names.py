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

# Function: its parameters that had a dial, which commands and files that give
# it still set where the run uses them. A dial has the name of the parameter in
# capitals, or stands before it.
_FORMER = """\
benchmarks.benchmark: regression TASK=name
builders.gpt1_backbone: embedding_dropout_on
builders.lstm_backbone: embedding_dropout_on num_units
custom.custom: class_weights dev_fraction family metric
custom.custom: HIGHEST_SCORE=high LOWEST_SCORE=low SPLIT_SEED=seed
evaluate.evaluate: num_viewed
export.Agreement: min_identical_tokens tolerance
export.Options: num_table_pieces table_split
export.export: num_warm_up
finetune.FineTuning: bucket_lengths classifier_dropout clip_norm patience
finetune.FineTuning: early_evaluation_steps evaluation_batch_size
finetune.FineTuning: num_scored_train_examples pool_batches softmax_chunk
finetune.FineTuning: softmax_over
fit.Intervals: checkpoint_steps evaluation_steps log_steps num_checkpoints
fit.Intervals: sample_steps
held_out.Evaluation: EVALUATION_BATCH_SIZE=batch_size EVALUATION_STRIDE=stride
held_out.Evaluation: EVALUATION_TOKENS=tokens
held_out.Evaluation: FINAL_EVALUATION_TOKENS=final_tokens
perplexity.Scoring: softmax_chunk EVALUATION_BATCH_SIZE=batch_size
presets.Pretrained: lora_rank
presets.Scoring: bucket_lengths EVALUATION_BATCH_SIZE=batch_size
pretrain.Sampling: SAMPLE_PROMPT=prompt
pretrain.Training: clip_norm softmax_chunk
pretrain.pretrain: build_backbone
report.report: PROBE_CONSTANTS=constants
sources.BenchmarkFiles: sample_examples sample_seed
sources.Corpus: held_out_fraction sample_seed sample_words split_seed
sources.Corpus: tokenizer_type
sources.RawText: pool_books
strategy.Devices: jit_compile num_replicas tpu
zero_shot.Scoring: bucket_lengths softmax_chunk
zero_shot.Scoring: EVALUATION_BATCH_SIZE=batch_size
zero_shot.Scoring: NUM_PROBE_EXAMPLES=num_examples
zero_shot.ZeroShotTasks: FIRST_PROBE_STEP=first_step
zero_shot.task: PROBE=name
zero_shot.tasks: PROBES=names
"""
FORMER_DIALS = {}  # {former dial: the full names of its parameters}
for _line in _FORMER.splitlines():
    _function, _, _names = _line.partition(": ")
    for _name in _names.split():
        _dial, _, _name = _name.rpartition("=")
        FORMER_DIALS.setdefault(_dial or _name.upper(), []).append(
            f"{_function}.{_name}"
        )

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
