"""Fine-tuned presets without fine-tuning, and `main` in this process."""

import contextlib
import io
import pathlib

import gin
import keras
import numpy as np
from keras import ops

from gpt1_keras import main
from gpt1_keras.data import transforms
from gpt1_keras.models import preprocessors
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.runs import presets
from tests.reference import small_models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LENGTH = 32


def write(directory, task, preset, *, seed=0):
    """Save a `GPT1TaskModel` of random weights below `directory`.

    Args:
        directory: path of a workdir; the preset is `preset/` in it.
        task: `tasks.task.Task`.
        preset: path of `tiny_task.write_preset`, for tokenizer and sizes.
        seed: int.
    """
    source = presets.Pretrained(
        preset=preset, num_transferred_layers=-1, dropout=0.0
    )
    preprocessor = preprocessors.GPT1TaskPreprocessor(
        tokenizer_lib.GPT1Tokenizer.from_pipeline(source.tokenizer()),
        transform=task.transform.__name__,
        sequence_length=LENGTH,
        task=task.name,
        label_words=task.label_space.class_names,
        score_range=task.label_space.score_range,
    )
    head = task.build_head(
        num_outputs=task.label_space.num_outputs,
        dropout=0.0,
        initializer_range=0.02,
        name="head",
    )
    model = task_model.GPT1TaskModel(
        source.backbone(), head, preprocessor=preprocessor
    )
    small_models.randomize(model, seed)
    directory.mkdir(parents=True, exist_ok=True)
    presets.save(model, directory / "preset")
    return model


def logits_one_by_one(model, examples):
    """Logits `[N, Y]`, each example alone and without padding."""
    tokenizer = model.preprocessor.tokenizer.pipeline
    transform = getattr(transforms, model.preprocessor.transform)
    found = []
    for example in examples:
        ids = transforms.ExampleIds(
            tokenizer.encode(example.text),
            tokenizer.encode(example.text_pair),
            tuple(map(tokenizer.encode, example.choices)),
        )
        candidates = transform(
            ids, tokenizer=tokenizer, max_sequence_length=LENGTH
        ).candidates
        longest = max(map(len, candidates))
        batch = transforms.pad([candidates], length=longest)
        del batch["token_weights"]
        found.append(small_models.read(model(batch)["logits"])[0])
    return np.array(found)


def as_array(tensor):
    """A tensor of any backend as a numpy array of its own memory."""
    return np.array(ops.convert_to_numpy(tensor))


def call_main(gin_file, workdir, **settings):
    """Call main in this process; return exit status and stderr."""
    arguments = ["--gin", gin_file, "--workdir", str(workdir)]
    for name, value in settings.items():
        arguments += ["--set", f"{name} = {value!r}"]
    errors = io.StringIO()
    policy = keras.config.dtype_policy()
    try:
        with contextlib.redirect_stderr(errors):
            status = main.main(arguments)
    finally:
        gin.clear_config()
        keras.config.set_dtype_policy(policy)
    return status, errors.getvalue()


def contents(workdir):
    """Every file below `workdir` and its bytes."""
    return {
        path.relative_to(workdir): path.read_bytes()
        for path in workdir.rglob("*")
        if path.is_file()
    }
