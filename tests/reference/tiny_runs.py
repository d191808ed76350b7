"""The runs on tiny presets; keywords change their settings."""

import contextlib
import dataclasses
import functools
import io
import json

from gpt1_keras import main
from gpt1_keras import results
from gpt1_keras.runs import finetune as finetune_lib
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import fit
from gpt1_keras.training import optimizers
from tests.reference import processes
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


def call(gin_files, workdir=None, allowed=(), **settings):
    """Call the run of gin files; return what it returns."""
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    place = workdir and str(workdir)
    return main.run(gin_files, lines, place, allowed, verbose=False)


def call_main(gin_files, workdir, **settings):
    """Call main in this process; return exit status and stderr."""
    if isinstance(gin_files, str):
        gin_files = [gin_files]
    arguments = processes.arguments(gin_files, workdir, **settings)
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main.main(arguments)
    return status, errors.getvalue()


def succeed(gin_files, workdir, **settings):
    """Call main, which must end well; return the result in `workdir`."""
    status, messages = call_main(gin_files, workdir, **settings)
    assert status == 0, messages
    return workdir and results.read(workdir)


def run(name, preset, workdir, data=None, **settings):
    """Call the run of gin/<name>.gin on a preset; return its result."""
    settings["PRESET"] = str(preset)
    if data is not None:
        settings["DATA_DIR"] = str(data)
    call([f"gin/{name}.gin"], workdir, **settings)
    return results.read(workdir)


def generate(preset, **settings):
    """Return what is printed."""
    settings = {"PROMPT": "the old captain", "NUM_TOKENS": 6} | settings
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        call(["gin/generate.gin"], PRESET=str(preset), **settings)
    return printed.getvalue()


def perplexity(preset, corpus, workdir=None, **settings):
    """Return the metrics of a text."""
    settings = {"CORPUS": str(corpus), "EVALUATION_STRIDE": 16} | settings
    gin_files = ["gin/perplexity.gin"]
    return call(gin_files, workdir, PRESET=str(preset), **settings)


def fine_tuning(**changes):
    return finetune_lib.FineTuning(**FINE_TUNING | changes)


def finetune(workdir, preset, data, *, task="cola", rate=1e-2, **changes):
    """Fine-tune on a benchmark (its name) or a task; return the result."""
    training = fine_tuning(**_taken(finetune_lib.FineTuning, changes))
    pretrained = {"num_transferred_layers": None, "dropout": 0.1}
    pretrained |= _taken(presets.Pretrained, changes)
    settings = {"seed": 42, "seeds": None, "paper": {}} | changes
    if not hasattr(data, "read"):
        data = sources.BenchmarkFiles(data_dir=str(data))
    workdir.mkdir(parents=True, exist_ok=True)
    finetune_lib.finetune(
        workdir=workdir,
        config_sha256=SHA,
        task=benchmarks.benchmark(task) if isinstance(task, str) else task,
        data=data,
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
    return results.read(workdir)


def _taken(cls, changes):
    """Take those of the changes that are fields of a class."""
    names = [field.name for field in dataclasses.fields(cls)]
    return {name: changes.pop(name) for name in names if name in changes}


def ask(saved_model, *requests):
    """Return the answer of an export to each request, as arrays."""
    import tensorflow as tf

    served = tf.saved_model.load(saved_model).signatures["serving_default"]
    found = [
        served(**{name: tf.constant(x) for name, x in request.items()})
        for request in requests
    ]
    return [{name: x.numpy() for name, x in answer.items()} for answer in found]


def answers(saved_model, requests):
    """In place of `verify.answers`: this process has TensorFlow already."""
    found = ask(saved_model, *requests)
    found = [{k: v.tolist() for k, v in x.items()} for x in found]
    return json.loads(json.dumps(found, default=bytes.decode))
