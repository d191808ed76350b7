"""The model card of an exported model."""

import json
import pathlib

from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

_CARD = """\
# {name}

Exported by gpt1_keras from the preset `{preset}`.

| | |
|---|---|
| task | {name} |
| checked on | {num_examples} rows of {split} |
{metrics}| weights | {weights_dtype}, {num_parameters:,} numbers |
| longest input | {sequence_length} tokens; `is_cut` marks truncated texts |
| configuration of the export | sha256 {config_sha256} |

## Training

{training}

## Labels

{labels}

## A request

```
{request}
```

## Agreement with the Keras model

The tokenizer in this SavedModel is a TensorFlow graph. On the rows above, its
output equals that of the Python tokenizer for {identical_texts:.4%} of the
texts and {identical_tokens:.4%} of the tokens. On texts with equal tokens, the
largest difference of a probability (of a score as a part of its range, of a
log-probability per token) is {largest_difference:.1e}. The graph repairs
fewer broken encodings than ftfy.{identity}

## Limits

English, lower case. Predictions reflect the training rows and the books the
model was pretrained on, with their biases. It was measured only on rows of the
same kind.
"""
_IDENTITY = """ On {paragraphs:,} paragraphs of other
texts, {identical_paragraphs:.4%} of the paragraphs and
{identical_paragraph_tokens:.4%} of the tokens are equal."""
_UNKNOWN = "Unknown: there is no `result.json` of a run next to the preset."


def text(*, preset, metrics, compared, identity, labels, request, **facts):
    """Return the card as Markdown.

    `metrics` and `compared` are those of `tf_served.ServedTask.compare`,
    `identity` of `verify.measure_identity` ({} if not measured), `request` an
    example, `facts` the card's other fields.
    """
    training = training_facts(preset)
    rows = [f"| {name} | {value} |" for name, value in training.items()]
    table = "\n".join(["| | |", "|---|---|", *rows])
    return _CARD.format(
        preset=preset,
        metrics="".join(f"| {k} | {v:.4f} |\n" for k, v in metrics.items()),
        training=table if training else _UNKNOWN,
        identity=_IDENTITY.format(**identity) if identity else "",
        labels=", ".join(map(tables.code, labels))
        or "none: the index of a choice from 0, or a score",
        request=json.dumps({"inputs": request}, ensure_ascii=False),
        **compared,
        **facts,
    )


def training_facts(preset):
    """Return facts about the run that wrote a preset as {name: str}.

    Empty if the folder above `preset` holds no `result.json`.
    """
    folder = pathlib.Path(preset).parent
    if not (folder / "result.json").is_file():
        return {}
    run = comparison.read(folder)
    result = run.result
    metrics = run.metrics().items()
    metrics = {k: v for k, v in metrics if isinstance(v, float)}

    def number(name):
        return tables.number(result.get(name))

    facts = {
        "run": f"{run.kind} ({result.get('task')})",
        "training data": _data(run),
        "training examples": number("num_train_examples"),
        "tokens seen": number("tokens_seen"),
        "steps": number("num_steps"),
        f"metrics on {result.get('split')}": metrics
        and f"{results.shown(metrics)} ({number('num_examples')})",
        "seed": number("seed"),
        "started from": tables.escape(str(run.macro("PRESET") or "")),
        "training configuration": f"sha256 {result.get('config_sha256')}",
        "commit": result.get("git_commit"),
    }
    return {name: str(value) for name, value in facts.items() if value}


def _data(run):
    """Return what the run was trained on, None if its settings do not say."""
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
