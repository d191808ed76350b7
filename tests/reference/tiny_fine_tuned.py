"""Fine-tuned presets without fine-tuning."""

import numpy as np

from gpt1_keras.data import transforms
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from tests.reference import small_models
from tests.reference import tiny_runs

LENGTH = 32


def write(directory, task, preset, *, seed=0):
    """Save a `GPT1TaskModel` of random weights as `directory/preset`.

    `task` may be the name of a benchmark. Tokenizer and sizes are those of
    another `preset`; returns the model.
    """
    if isinstance(task, str):
        task = benchmarks.benchmark(task)
    source = presets.Pretrained(
        preset=preset, num_transferred_layers=-1, dropout=0.0
    )
    training = tiny_runs.fine_tuning(
        classifier_dropout=0.0, sequence_length=LENGTH
    )
    model = training.build_network(
        task, source.backbone(num_special_tokens=3), source.tokenizer
    )
    small_models.randomize(model, seed)
    directory.mkdir(parents=True, exist_ok=True)
    presets.save(model, directory / "preset")
    return model


def logits_one_by_one(model, examples):
    """Logits `[N, Y]` without padding but of shorter candidates."""
    tokenizer = model.preprocessor.tokenizer.pipeline
    transform = getattr(transforms, model.preprocessor.transform)
    found = []
    for example in examples:
        candidates = transform(
            tokenizer.encode(example.text),
            tokenizer.encode(example.text_pair),
            tuple(map(tokenizer.encode, example.choices)),
            tokenizer=tokenizer,
            max_sequence_length=LENGTH,
        ).candidates
        batch = transforms.pad([candidates], length=max(map(len, candidates)))
        del batch["token_weights"]
        found.append(small_models.read(model(batch)["logits"]))
    return np.concatenate(found)
