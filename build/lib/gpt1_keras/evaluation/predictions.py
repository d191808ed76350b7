"""A table of predictions next to their texts, worst errors first.

A TSV file without quoting; tabs, line breaks, control characters and
backslashes are escaped (`files.escape_line`). Columns:

- `row`: position of the example in its split, from 0;
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

import numpy as np

from gpt1_keras import files

_FIRST = (
    *("row", "label", "prediction", "error"),
    *("prediction_probability", "label_probability"),
)
_LAST = ("text", "text_pair", "choices")
_OF = "probability_of_"


def write(path, examples, labels, predictions, probabilities=None, *, names=()):
    """Write the table; return its rows, dicts from column to value.

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
    if probabilities is None:
        probabilities = np.empty([len(examples), 0])
    probabilities = np.asarray(probabilities, "float64")
    num_outputs = probabilities.shape[1]
    names = names or [str(i) for i in range(num_outputs)]
    columns = [*_FIRST, *(_OF + name for name in names[:num_outputs]), *_LAST]
    judged = []
    for i, (example, label) in enumerate(zip(examples, labels, strict=True)):
        if is_score:
            badness, fields = _judge_score(label, predictions[i])
        else:
            badness, fields = _judge_class(
                label, int(predictions[i]), probabilities[i], names
            )
        choices = json.dumps(list(example.choices), ensure_ascii=False)
        values = [
            *(i, *fields),
            *map(_number, probabilities[i]),
            *(example.text, example.text_pair),
            choices if example.choices else "",
        ]
        # Unlabelled examples last, then the worst first.
        judged.append(((badness is None, -(badness or 0.0), i), values))
    lines = [columns, *(values for _, values in sorted(judged))]
    content = "".join(
        "\t".join(files.escape_line(str(field)) for field in line) + "\n"
        for line in lines
    )
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, content)
    return [dict(zip(columns, line)) for line in lines[1:]]


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
