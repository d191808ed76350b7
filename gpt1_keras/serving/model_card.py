"""What a person should know of an exported model."""

import json

_CARD = """\
# {name}

Exported by gpt1_keras from the preset `{preset}`.

| | |
|---|---|
| task | {name} |
| checked on | {num_examples} rows of {split} |
{metrics}
| weights | {weights_dtype}, {num_parameters:,} numbers |
| longest input | {sequence_length} tokens; what is cut says `is_cut` |
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

The tokenizer in this SavedModel is a TensorFlow graph. On the rows above
{identical_texts:.4%} of the texts and {identical_tokens:.4%} of the tokens
are those of the Python tokenizer; on them the largest difference of a
probability (of a score as a part of its range, of a log-probability per
token) is {largest_difference:.1e}. It does not mend broken encodings as ftfy
does.{identity}

## Limits

English, lower case. The model says what its training rows suggest, with their
biases and those of the books it was pretrained on; it was measured on rows of
the same kind, and nothing is known of others.
"""


# Where texts of another kind were compared.
_IDENTITY = """ On {paragraphs:,} paragraphs of
other texts {identical_paragraphs:.4%} of the paragraphs and
{identical_paragraph_tokens:.4%} of the tokens are the same."""
_UNKNOWN = "Nothing is known of it: no `result.json` of a run lies beside."


def text(*, metrics, compared, identity, training, labels, request, **facts):
    """Return the card as Markdown.

    Args:
        metrics: dict of numbers, of the served model.
        compared: dict of `evaluation.agreement`.
        identity: dict of `paragraphs`, `identical_paragraphs` and
            `identical_paragraph_tokens`; empty where none were compared.
        training: dict from a name to a str, facts of the training; may be
            empty.
        labels: list of str; empty where there are no classes.
        request: dict, an example of inputs.
        **facts: the other names in the text above.
    """
    return _CARD.format(
        metrics="\n".join(f"| {k} | {v:.4f} |" for k, v in metrics.items()),
        training=_table(training) if training else _UNKNOWN,
        identity=_IDENTITY.format(**identity) if identity else "",
        labels=", ".join(f"`{label}`" for label in labels)
        or "none: the index of a choice from 0, or a score",
        request=json.dumps({"inputs": request}, ensure_ascii=False),
        **compared,
        **facts,
    )


def _table(facts):
    rows = [f"| {name} | {value} |" for name, value in facts.items()]
    return "\n".join(["| | |", "|---|---|", *rows])
