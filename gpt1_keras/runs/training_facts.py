"""What is known of the training of a preset, for people."""

import pathlib

from gpt1_keras.evaluation import workdirs


def of(preset):
    """Return what the run that made a preset says of it.

    Args:
        preset: path of `preset/` in the workdir of a run.

    Returns:
        dict from a name to a str, for a table; empty where the folder above
        holds no `result.json` of a run.
    """
    folder = pathlib.Path(preset).parent
    if not (folder / "result.json").is_file():
        return {}
    run = next(run for run in workdirs.find([folder]) if run.path == folder)
    found = run.result
    facts = {
        "run": f"{run.kind} ({found.get('task')})",
        "training data": _data(run),
        "training examples": _number(found.get("num_train_examples")),
        "tokens seen": _number(found.get("tokens_seen")),
        "updates": _number(found.get("num_steps")),
        f"metrics on {found.get('split')}": _metrics(found),
        "seed": _number(found.get("seed")),
        "began with": run.macro("PRESET"),
        "training configuration": f"sha256 {found.get('config_sha256')}",
        "commit": found.get("git_commit"),
    }
    return {name: str(value) for name, value in facts.items() if value}


def _data(run):
    """Return where the data lay, None if no file says it."""
    if run.macro("TRAIN_FILE"):
        return f"`{run.macro('TRAIN_FILE')}`"
    if run.is_sample:
        return "generated sample benchmarks, not the official files"
    place = run.macro("DATA_DIR") or run.macro("CORPUS")
    if place:
        return f"`{place}`"
    if run.bindings is not None and "CORPUS" in run.bindings.macros:
        return "the generated sample corpus"
    return None


def _metrics(found):
    """Return the metrics and of how many examples (or tokens) they are."""
    metrics = [
        f"{name} {value:.4f}"
        for name, value in found.get("metrics", {}).items()
        if isinstance(value, float)
    ]
    count = _number(found.get("num_examples"))
    return ", ".join(metrics) + f" ({count})" if metrics else None


def _number(value):
    return None if value is None else f"{value:,}"
