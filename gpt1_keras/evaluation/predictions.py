"""A table of predictions beside their texts, worst errors first.

A TSV file without quoting; in texts and words a tab is written `\\t`, line
breaks `\\n` and `\\r`, a backslash `\\\\`. Columns:

- `row`: place of the example in its split, from 0;
- `label`, `prediction`: words, indices of choices or scores; the label is
  empty where it is not known;
- `error`: of a score, how far the prediction is from the label;
- `prediction_probability`, `label_probability`;
- `probability_of_WORD`: one for each class or choice;
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


def write(path, examples, labels, predictions, probabilities=None, *, words=()):
    """Write the table.

    Worst is the example to whose label the lowest probability was given, or
    whose score is farthest off. Examples without a label come last.

    Args:
        path: path of the file.
        examples: list of `N` objects with `text`, `text_pair`, `choices`.
        labels: list or array `[N]` of the indices of classes or choices, or
            of scores; None where one is not known.
        predictions: array `[N]`: int, or float for scores.
        probabilities: float array `[N, Y]`, or None.
        words: `Y` str, what the probabilities are of; without them these are
            counted from 0.

    Returns:
        `path`.
    """
    predictions = np.asarray(predictions)
    is_score = np.issubdtype(predictions.dtype, np.floating)
    if probabilities is None:
        num_outputs = 0
        probabilities = [()] * len(examples)
    else:
        probabilities = np.asarray(probabilities, "float64")
        num_outputs = probabilities.shape[1]
    words = [str(i) for i in range(num_outputs)] if not words else words
    rows = []
    for i, (example, label) in enumerate(zip(examples, labels, strict=True)):
        badness, fields = _judge(
            label, predictions[i], probabilities[i], is_score, words
        )
        row = [
            *(i, *fields),
            *(f"{value:.6g}" for value in probabilities[i]),
            *(example.text, example.text_pair),
            json.dumps(list(example.choices), ensure_ascii=False)
            if example.choices
            else "",
        ]
        rows.append((badness, i, row))
    header = [*_FIRST, *(_OF + word for word in words[:num_outputs]), *_LAST]
    lines = [header, *(row for _, _, row in sorted(rows, key=_order))]
    content = "".join(
        "\t".join(_escape(str(field)) for field in line) + "\n"
        for line in lines
    )
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, content)
    return path


def read(path):
    """Read a table that `write` wrote.

    Returns:
        list of dicts, in the order of the file, by the names of the columns:
        `row` int; `label` str or None; `prediction`, `text` and `text_pair`
        str; `choices` tuple of str; numbers as float or None; and
        `probabilities`, a dict from word to float.

    Raises:
        InputError: the file is missing or no such table.
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
            " a file that an evaluation wrote"
        )
    rows = []
    for number, line in enumerate(lines, 2):
        fields = [_unescape(field) for field in line.split("\t")]
        try:
            rows.append(_parse(dict(zip(names, fields, strict=True)), middle))
        except ValueError as error:
            raise errors.InputError(
                f"{path} line {number} is no prediction ({error}): write the"
                " table anew"
            ) from None
    return rows


def _judge(label, prediction, probabilities, is_score, words):
    """Return how bad the prediction is (None: unknown), and its fields."""
    if is_score:
        error = None if label is None else abs(float(prediction) - float(label))
        written = "" if label is None else f"{float(label):.6g}"
        shown = "" if error is None else f"{error:.6g}"
        return error, (written, f"{float(prediction):.6g}", shown, "", "")
    name = words.__getitem__ if words else str
    prediction = int(prediction)
    has_probabilities = len(probabilities) > 0
    certainty = f"{probabilities[prediction]:.6g}" if has_probabilities else ""
    if label is None:
        return None, ("", name(prediction), "", certainty, "")
    label = int(label)
    if has_probabilities:
        badness = -probabilities[label]
        of_label = f"{probabilities[label]:.6g}"
    else:
        badness, of_label = float(prediction != label), ""
    return badness, (name(label), name(prediction), "", certainty, of_label)


def _order(row):
    badness, index, _ = row
    return (badness is None, -(badness or 0.0), index)


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
