"""A table of predictions next to their texts, worst errors first.

A TSV file without quoting; a tab in a text is written `\\t`, line breaks `\\n`
and `\\r`, a backslash `\\\\`. Columns:

- `row`: place of the example in its split, from 0;
- `label`, `prediction`: class names, indices of choices or scores; the label
  is empty if unknown;
- `error`: of a score, its distance from the label;
- `prediction_probability`, `label_probability`;
- `probability_of_NAME`: one for each class or choice;
- `text`, `text_pair`, and `choices` as a JSON list.

Letters: `N` examples, `Y` classes, choices or logits of a score.
"""

import json
import pathlib
import re

import numpy as np

from gpt1_keras import errors
from gpt1_keras import files

_FIRST = (
    *("row", "label", "prediction", "error"),
    *("prediction_probability", "label_probability"),
)
_LAST = ("text", "text_pair", "choices")
_OF = "probability_of_"
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


def write(path, examples, labels, predictions, probabilities=None, *, names=()):
    """Write the table and return its path.

    The worst example is the one whose label has the lowest probability, or
    whose score is farthest from its label. Examples without a label come last.

    Args:
        path: path of the file.
        examples: list of `N` objects with `text`, `text_pair`, `choices`.
        labels: list or array `[N]` of the indices of classes or choices, or
            of scores; None where unknown.
        predictions: array `[N]`: int, or float for scores.
        probabilities: float array `[N, Y]`, or None.
        names: `Y` str, what the probabilities stand for; counted from 0 if
            empty.
    """
    predictions = np.asarray(predictions)
    is_score = np.issubdtype(predictions.dtype, np.floating)
    num_outputs = 0
    if probabilities is None:
        probabilities = [()] * len(examples)
    else:
        probabilities = np.asarray(probabilities, "float64")
        num_outputs = probabilities.shape[1]
    names = names or [str(i) for i in range(num_outputs)]
    judged = []
    for i, (example, label) in enumerate(zip(examples, labels, strict=True)):
        if is_score:
            badness, fields = _judge_score(label, predictions[i])
        else:
            badness, fields = _judge_class(
                label, int(predictions[i]), probabilities[i], names
            )
        choices = json.dumps(list(example.choices), ensure_ascii=False)
        row = [
            *(i, *fields),
            *map(_number, probabilities[i]),
            *(example.text, example.text_pair),
            choices if example.choices else "",
        ]
        # Unlabelled examples last, then the worst first.
        judged.append(((badness is None, -(badness or 0.0), i), row))
    header = [*_FIRST, *(_OF + name for name in names[:num_outputs]), *_LAST]
    content = "".join(
        "\t".join(_escape(str(field)) for field in row) + "\n"
        for row in (header, *(row for _, row in sorted(judged)))
    )
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, content)
    return path


def read(path):
    """Read a table that `write` has written.

    Returns:
        list of dicts, in the order of the file, by column: `row` int; `label`
        str or None; `prediction`, `text` and `text_pair` str; `choices` tuple
        of str; numbers as float or None; and `probabilities`, a dict from
        name to float.

    Raises:
        InputError: the file is missing or not such a table.
    """
    try:
        content = pathlib.Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InputError(
            f"{path} cannot be read ({error}): give a table of predictions"
        ) from None
    header, *lines = content.removesuffix("\n").split("\n")
    names = [_unescape(name) for name in header.split("\t")]
    middle = names[len(_FIRST) : -len(_LAST)]
    if names != [*_FIRST, *middle, *_LAST]:
        raise errors.InputError(
            f"{path} line 1 is not the header of a table of predictions: give"
            " a file that an evaluation has written"
        )
    rows = []
    for number, line in enumerate(lines, 2):
        fields = [_unescape(field) for field in line.split("\t")]
        try:
            rows.append(_parse(dict(zip(names, fields, strict=True)), middle))
        except ValueError as error:
            raise errors.InputError(
                f"{path} line {number} is not a prediction ({error}): evaluate"
                " again"
            ) from None
    return rows


def _judge_score(label, prediction):
    """Return the error (None: unknown) and the fields after `row`."""
    if label is None:
        return None, ("", _number(prediction), "", "", "")
    error = abs(float(prediction) - float(label))
    return error, (
        *(_number(label), _number(prediction), _number(error)),
        *("", ""),
    )


def _judge_class(label, prediction, probabilities, names):
    """Return how bad the prediction is (None: unknown), and its fields."""
    name = names.__getitem__ if names else str
    is_known = len(probabilities) > 0
    certainty = _number(probabilities[prediction]) if is_known else ""
    if label is None:
        return None, ("", name(prediction), "", certainty, "")
    label = int(label)
    badness = -probabilities[label] if is_known else float(prediction != label)
    of_label = _number(probabilities[label]) if is_known else ""
    return badness, (name(label), name(prediction), "", certainty, of_label)


def _number(value):
    return f"{float(value):.6g}"


def _parse(fields, middle):
    numbers = ("error", "prediction_probability", "label_probability")
    return {
        "row": int(fields["row"]),
        "label": fields["label"] or None,
        "prediction": fields["prediction"],
        **{
            name: float(fields[name]) if fields[name] else None
            for name in numbers
        },
        "probabilities": {
            name.removeprefix(_OF): float(fields[name]) for name in middle
        },
        "text": fields["text"],
        "text_pair": fields["text_pair"],
        "choices": tuple(json.loads(fields["choices"] or "[]")),
    }


def _escape(field):
    return re.sub(r"[\\\t\n\r]", lambda found: _ESCAPES[found[0]], field)


def _unescape(field):
    return re.sub(r"\\[\\tnr]", lambda found: _CHARACTERS[found[0]], field)
