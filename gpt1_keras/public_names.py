"""The names that gin files may bind, and what they were called before.

A gin file binds the runs and the few objects passed to them by the public names
below, which stay when modules move. To rename something, change its public name
and add the old one to `RENAMED`; to drop a parameter, add it to `REMOVED`. Then
every `config.gin` written before still works, and its run still resumes.
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
# Former parameters, which are left out when an older file binds them.
REMOVED = {"export.Options.identity_texts", "grid.grid.seed", "grid.grid.seeds"}

# Parameter -> the object that now holds what older files bound to the function
# itself. It is bound where a file binds the function but not this parameter.
ADDED = {
    "pretrain.pretrain.training": "pretrain.Training",
    "pretrain.pretrain.devices": "strategy.Devices",
    "finetune.finetune.devices": "strategy.Devices",
    "export.export.agreement": "export.Agreement",
    "grid.grid.training": "finetune.FineTuning",
    "grid.grid.pretrained": "presets.Pretrained",
}


def find(name):
    """Return the function or class of public `name`, None if there is none."""
    if name not in PUBLIC:
        return None
    module, _, attribute = PUBLIC[name].rpartition(".")
    found = _imported(module)
    if isinstance(found, ImportError):
        raise found
    return getattr(found, attribute)


@functools.cache
def _imported(module):
    """Return a module, or the ImportError: a failure may take a second."""
    if module in sys.modules:
        return sys.modules[module]
    try:
        with console.without_noise():
            return importlib.import_module(module)
    except ImportError as error:
        return error


def current(name):
    """Return the public name of "function" or "function.parameter"."""
    scope, slash, name = name.rpartition("/")
    function, _, parameter = name.rpartition(".")
    if name not in RENAMED and function in RENAMED:
        return f"{scope}{slash}{RENAMED[function]}.{parameter}"
    return scope + slash + RENAMED.get(name, name)


@functools.cache
def parameters(function):
    """Return a function's {name: `inspect.Parameter`}; evaluate annotations."""
    return dict(inspect.signature(function, eval_str=True).parameters)
