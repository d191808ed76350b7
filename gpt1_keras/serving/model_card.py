"""The model card of an exported model."""

import json
import pathlib

from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables


def text(*, preset, request, **facts):
    """Return the card as Markdown; `facts` are other values of the template."""
    return tables.render(
        pathlib.Path(__file__).with_name("model_card.md.jinja"),
        preset=preset,
        request=json.dumps({"inputs": request}, ensure_ascii=False),
        training=training_facts(preset),
        **facts,
    )


def training_facts(preset):
    """Return facts about the run that wrote a preset as {name: str}, or {}."""
    folder = pathlib.Path(preset).parent
    if not (folder / "result.json").is_file():
        return {}
    run = comparison.read(folder)
    result = run.result
    metrics = {k: v for k, v in run.metrics().items() if isinstance(v, float)}

    def number(name):
        return tables.number(result.get(name))

    seed = result.get("seed")  # may be 0
    facts = {
        "run": f"{run.kind} ({result.get('task')})",
        "training data": _data(run),
        "training examples": number("num_train_examples"),
        "tokens seen": number("tokens_seen"),
        "steps": number("num_steps"),
        f"metrics on {result.get('split')}": metrics
        and f"{results.shown(metrics)} ({number('num_examples')})",
        "seed": "" if seed is None else str(seed),
        "started from": tables.escape(str(run.macro("PRESET") or "")),
        "training configuration": f"sha256 {result.get('config_sha256')}",
        "commit": result.get("git_commit"),
    }
    return {name: str(value) for name, value in facts.items() if value}


def _data(run):
    """Return the training data of a run, None if its settings do not say."""
    macros = run.bindings.macros if run.bindings is not None else {}
    for name, generated in (
        ("TRAIN_FILE", None),
        # Pretraining may have DATA_DIR, too, for its zero-shot tasks.
        ("CORPUS", "the generated sample corpus"),
        ("DATA_DIR", "generated sample benchmarks, not the official files"),
    ):
        if name in macros:
            place = run.macro(name)
            return tables.code(str(place)) if place else generated
    return None
