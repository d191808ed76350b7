"""The runs as functions, on tiny presets; keywords change their settings.

Each returns its result.
"""

import contextlib
import dataclasses
import functools
import io

from gpt1_keras import results
from gpt1_keras.runs import evaluate as evaluate_lib
from gpt1_keras.runs import export as export_lib
from gpt1_keras.runs import finetune as finetune_lib
from gpt1_keras.runs import generate as generate_lib
from gpt1_keras.runs import perplexity as perplexity_lib
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.runs import view as view_lib
from gpt1_keras.runs import zero_shot as zero_shot_lib
from gpt1_keras.serving import verify
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import zero_shot as zero_shot_tasks
from gpt1_keras.training import fit
from gpt1_keras.training import optimizers
from tests.reference import small_models

SHA = "a" * 64
FINE_TUNING = {
    **{"batch_size": 8, "microbatch_size": None, "evaluation_batch_size": 8},
    **{"num_epochs": 1, "num_train_examples": None, "sequence_length": None},
    **{"clip_norm": 1.0, "lm_loss_weight": 0.5, "dtype": "float32"},
    **{"softmax_over": "tokens", "softmax_chunk": 8},
    **{"classifier_dropout": 0.1, "initializer_range": 0.02},
    **{"bucket_lengths": (16, 32), "pool_batches": 2},
    **{"num_scored_train_examples": 5, "early_evaluation_steps": ()},
    "batches": finetune_lib.encoded_batches,
}


def files(data):
    return sources.BenchmarkFiles(data_dir=str(data))


def _run(function, workdir, **settings):
    workdir.mkdir(parents=True, exist_ok=True)
    function(workdir=workdir, config_sha256=SHA, **settings)
    return results.read(workdir)


def scoring():
    return presets.Scoring(batch_size=8, bucket_lengths=(16, 32))


def evaluate(workdir, preset, data, **changes):
    settings = {
        "preset": str(preset),
        "build_task": benchmarks.of_preset,
        "data": files(data),
        "split": "dev",
        "scoring": scoring(),
        "num_viewed": 10,
        "paper": {"cola": {"matthews": 0.454}},
    }
    return _run(evaluate_lib.evaluate, workdir, **settings | changes)


def export(workdir, preset, data, **changes):
    settings = {
        "data": files(data),
        "build_task": benchmarks.of_preset,
        "split": "dev",
        "table_split": None,
        "num_table_pieces": 100,
        "scoring": scoring(),
        "weights_dtype": "float32",
    }
    return _run(
        *(export_lib.export, workdir),
        preset=str(preset),
        options=export_lib.Options(**settings | changes),
        agreement=verify.Agreement(tolerance=1e-4, min_identical_tokens=0.999),
        num_warm_up=0,
    )


def fine_tuning(**changes):
    return finetune_lib.FineTuning(**FINE_TUNING | changes)


def finetune(workdir, preset, data, *, task="cola", rate=1e-2, **changes):
    """Fine-tune on a benchmark (its name) or a task; return the result."""
    training = fine_tuning(**_taken(finetune_lib.FineTuning, changes))
    pretrained = {"num_transferred_layers": None, "dropout": 0.1}
    pretrained |= _taken(presets.Pretrained, changes)
    settings = {"seed": 42, "seeds": None, "paper": {}} | changes
    return _run(
        *(finetune_lib.finetune, workdir),
        task=benchmarks.benchmark(task) if isinstance(task, str) else task,
        data=data if data is None or hasattr(data, "read") else files(data),
        pretrained=presets.Pretrained(preset=str(preset), **pretrained),
        build_optimizer=functools.partial(
            optimizers.adam_with_decay,
            schedule=optimizers.WarmupLinear,
            peak_learning_rate=rate,
            warmup_steps=None,
            warmup_fraction=0.002,
            **small_models.ADAM,
        ),
        training=training,
        intervals=fit.Intervals(
            log_steps=1, checkpoint_steps=3, num_checkpoints=2
        ),
        **settings,
    )


def _taken(cls, changes):
    """Take those of the changes that are fields of a class."""
    names = [field.name for field in dataclasses.fields(cls)]
    return {name: changes.pop(name) for name in names if name in changes}


def generate(preset, **changes):
    """Return what is printed."""
    settings = {
        **{"prompt": "the old captain", "prompt_file": None},
        **{"interactive": False, "num_tokens": 6, "num_texts": 1},
        **{"sampler": "top_k", "temperature": 0.8, "top_k": 40},
        **{"top_p": 0.9, "num_beams": 4, "stop_at_newline": False},
        **{"seed": 42, "dtype": "float32"},
    }
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        generate_lib.generate(preset=str(preset), **settings | changes)
    return printed.getvalue()


def perplexity(preset, corpus, workdir=None, split="all", **changes):
    """Return the metrics of a text."""
    settings = {"num_tokens": None, "sequence_length": None}
    settings |= {"stride": 16, "batch_size": 8}
    if workdir is not None:
        workdir.mkdir(parents=True, exist_ok=True)
    return perplexity_lib.perplexity(
        preset=str(preset),
        corpus=corpus and str(corpus),
        split=split,
        scoring=perplexity_lib.Scoring(**settings | changes),
        config_sha256=SHA,
        workdir=workdir,
    )


def view(workdir, preset, text="the old captain", **changes):
    settings = {"text_file": None, "layer": -1, "head": None} | changes
    settings |= {"preset": str(preset), "text": text}
    return _run(view_lib.view, workdir, **settings)


def zero_shot(
    workdir, preset, data, *, task="cola", dtype="float32", **changes
):
    task = zero_shot_tasks.task(task)
    settings = {"batch_size": 4, "bucket_lengths": (8,), "softmax_chunk": 8}
    tasks = zero_shot_lib.ZeroShotTasks(
        tasks=[task],
        data=files(data),
        scoring=zero_shot_lib.Scoring(**settings | changes),
    )
    settings = {"preset": str(preset), "tasks": tasks, "dtype": dtype}
    return _run(zero_shot_lib.zero_shot, workdir, **settings)
