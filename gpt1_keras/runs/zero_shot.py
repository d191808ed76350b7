"""Tasks answered by the language model alone (paper, section 5)."""

import time

from absl import logging

from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.runs import fitting
from gpt1_keras.runs import presets
from gpt1_keras.runs import result
from gpt1_keras.training import signals


def zero_shot(*, workdir, config_sha256, preset, probing, dtype):
    """Measure one probe on a pretrained model; write `result.json`.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        preset: path of a preset, or None for the one shipped.
        probing: `probing.Probing` of one probe.
        dtype: str, Keras dtype policy.

    Returns:
        path of `result.json`.
    """
    directory = presets.find(preset)
    found = result.path(workdir)
    if not presets.is_newer(directory, found):
        if result.is_finished(workdir, config_sha256):
            return found
    started = time.monotonic()
    fitting.set_dtype(dtype)
    (probe,) = probing.probes
    split = probing.split(probe)
    examples = probing.examples(probe, split)
    tokenizer = presets.load_tokenizer(directory)
    backbone = presets.load(backbone_lib.GPT1Backbone, directory, dtype=dtype)
    with signals.catch() as stop:
        metrics = probing.measurer(probe, backbone, tokenizer)(stop)
    logging.info(
        "%s %s, zero-shot: %s",
        probe.name,
        split,
        ", ".join(
            f"{name} {value:,}"
            if isinstance(value, int)
            else f"{name} {value:.4f}"
            for name, value in metrics.items()
        ),
    )
    return result.write(
        workdir,
        run="zero_shot",
        task=probe.name,
        split=split,
        metrics=metrics,
        majority=probe.majority(examples),
        random=probe.random,
        paper={},
        num_examples=len(examples),
        seed=None,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(directory),
    )
