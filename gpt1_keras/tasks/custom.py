"""A task from the user's own TSV, CSV or JSONL files with named columns.

| family              | columns                             | label         |
|---------------------|-------------------------------------|---------------|
| classification      | text                                | class name    |
| pair_classification | text, text_pair                     | class name    |
| similarity          | text, text_pair                     | number        |
| multiple_choice     | text, text_pair (optional), choices | index or text |

Classes and score range are those of the train file. A score between whole
numbers at most ten apart is learned as weights on these numbers, any other
one by regression.
"""

import collections
import dataclasses
import math
import pathlib
import typing

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.data.readers import rows as rows_lib
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.tasks import task as task_lib

Family = (
    typing.Annotated[str, checks.Dial(choices=tuple(task_lib.TASK_TYPES))]
    | None
)
Metric = (
    typing.Annotated[
        str,
        checks.Dial(choices=("accuracy", "macro_f1", "pearson", "spearman")),
    ]
    | None
)
ClassWeights = (
    typing.Annotated[str, checks.Dial(choices=("balanced",))]
    | tuple[checks.Positive, ...]
    | None
)
_RARE = 0.1  # of the training rows: accuracy hardly sees such a class
_LARGEST_SPAN = 10  # of a score that is learned as weights on whole numbers


def custom(
    *,
    train: checks.Path | None,
    dev: checks.Path | None = None,
    test: checks.Path | None = None,
    family: Family = None,
    text: checks.Column = "text",
    text_pair: checks.Column | None = None,
    choices: checks.Column | tuple[checks.Column, ...] | None = None,
    label: checks.Column = "label",
    dev_fraction: checks.Fraction = 0.1,
    seed: checks.Seed = 0,
    low: float | None = None,
    high: float | None = None,
    metrics=None,
    bad_rows: custom_lib.BadRows = "stop",
    class_weights: ClassWeights = None,
    metric: Metric = None,
    data_dir: checks.Path | None = None,
):
    """Return the task of a train file, and optionally a dev and a test file.

    Args:
        train, dev, test, dev_fraction, seed, low, high, bad_rows: see
            `readers.custom.read_splits`.
        family: str, see the module. None infers it: multiple choice if there
            are choices; else similarity if there are second texts and some
            label is a fraction; else (pair) classification.
        text, label: str, columns.
        text_pair, choices: the same, choices also a tuple of columns; None
            takes the column of this name if the file has it.
        metrics: tuple of functions; None takes accuracy and macro F1, accuracy
            alone of choices, or correlations.
        class_weights: tuple of floats, one for each class in alphabetical
            order, that multiply the loss (`losses.WeightedCrossEntropy`);
            "balanced": N / (Y n) for `n` of `N` training rows in a class of
            `Y`, so that all classes weigh the same; None: all rows do.
        metric: str, which metric on dev selects the best epoch. None: macro F1
            where the rarest class has less than a tenth of the training rows,
            else the first of the metrics.
        data_dir: folder of relative paths; None: the current one.
    """
    if not train:
        raise errors.InputError(
            "no train file is given: --set \"TRAIN_FILE = 'my.tsv'\""
        )
    table = custom_lib.read_table(pathlib.Path(data_dir or "", train))
    columns = custom_lib.Columns(
        text=text, text_pair=text_pair, choices=choices, label=label
    )
    family, columns = _inferred(table, family, columns)
    found = custom_lib.read_splits(
        data_dir,
        train=train,
        dev=dev,
        test=test,
        columns=columns,
        dev_fraction=dev_fraction,
        seed=seed,
        low=low,
        high=high,
        bad_rows=bad_rows,
    )
    if family == "multiple_choice":
        label_space = task_lib.Choice()
    elif family == "similarity":
        label_space = _score_space(*found.known.score_range)
    else:
        names, rows = found.known.class_names, found.examples["train"]
        counts = collections.Counter(row.label for row in rows)
        rarest = min(names, key=lambda name: counts[name])
        label_space = task_lib.Classes(
            names, _class_weights(class_weights, names, counts)
        )
        if metric is metrics is None and counts[rarest] < _RARE * len(rows):
            metric = "macro_f1"
            logging.info(
                "the best epoch is the one with the best macro F1 on dev: class"
                f" {rarest!r} has {counts[rarest]} of {len(rows):,} training"
                " rows (METRIC = 'accuracy' to change this)"
            )
    if class_weights is not None and not label_space.class_names:
        raise errors.InputError(
            f"`class_weights` is {class_weights!r}, but {family} has no"
            " classes: set it to None"
        )
    if (low, high) != (None, None) and not label_space.score_range:
        raise errors.InputError(
            f"`low` and `high` are of a score, which {family} has not: set"
            " both to None"
        )
    return _task(
        found.read, family, label_space, found.skipped, metrics, metric
    )


def _class_weights(given, names, counts):
    """Return a weight for each class, None where all weigh the same."""
    if given == "balanced":
        return [
            counts.total() / (len(names) * max(counts[n], 1)) for n in names
        ]
    if given is not None and len(given) != len(names):
        raise errors.InputError(
            f"`class_weights` has {len(given)} weights, but there are"
            f" {len(names)} classes: give one for each of {', '.join(names)}"
        )
    return given


def of_preset(
    preprocessor,
    *,
    file: checks.Path,
    text: checks.Column,
    text_pair: checks.Column | None,
    choices: checks.Column | tuple[checks.Column, ...] | None,
    label: checks.Column | None,
    bad_rows: custom_lib.BadRows = "stop",
):
    """Return the task of a fine-tuned preset on a file of the same form.

    Family, classes and score range are those of the `GPT1TaskPreprocessor`.
    The file, "-" for standard input, is read at once and stands for every
    split. Its label column may be missing, and is not read if `label` is None.
    """
    if str(file) == "-":
        file = rows_lib.StandardInput(text)
    table = custom_lib.read_table(file, text)
    columns = custom_lib.Columns(
        text=text, text_pair=text_pair, choices=choices, label=label
    )
    _, columns = _inferred(table, _family_of(preprocessor), columns)
    is_score = preprocessor.score_range is not None
    columns = dataclasses.replace(columns, is_score=is_score)
    space = task_lib.label_space_of(preprocessor)
    skipped = [] if bad_rows == "skip" else None
    rows = custom_lib.read_rows(
        file,
        columns,
        is_labelled=label in table.names,
        known=custom_lib.Known(space.class_names, space.score_range),
        skipped=skipped,
    )
    return task_of(preprocessor, lambda data_dir, split: rows, skipped)


def task_of(preprocessor, reader, skipped=None):
    """Return the task of a fine-tuned preset's `GPT1TaskPreprocessor`.

    `reader` and `skipped` are those of a `Task`.
    """
    label_space = task_lib.label_space_of(preprocessor)
    return _task(reader, _family_of(preprocessor), label_space, skipped)


def _family_of(preprocessor):
    return next(
        name
        for name, (transform, _) in task_lib.TASK_TYPES.items()
        if transform.__name__ == preprocessor.transform
    )


def _task(reader, family, label_space, skipped, metrics=None, metric=None):
    default, names = metrics_lib.accuracy, ("accuracy",)
    if label_space.score_range:
        default = metrics_lib.pearson_and_spearman
        names = ("pearson", "spearman")
    elif label_space.class_names:
        default = metrics_lib.accuracy_and_macro_f1
        names = ("accuracy", "macro_f1")
    if metric is not None and metrics is None and metric not in names:
        raise errors.InputError(
            f"`metric` is {metric!r}, but {family.replace('_', ' ')} is"
            f" measured by {' and '.join(names)}: give one of them"
        )
    return task_lib.Task(
        name="custom",
        reader=reader,
        label_space=label_space,
        metrics=tuple(metrics or (default,)),
        is_own=True,
        skipped=skipped,
        main_metric=metric,
        **task_lib.TASK_TYPES[family]._asdict(),
    )


def _inferred(table, family, columns):
    """Return family and `Columns`, from a table where they are not given."""
    text_pair, choices = columns.text_pair, columns.choices
    if choices and family not in (None, "multiple_choice"):
        raise errors.InputError(
            f"FAMILY {family!r} takes no CHOICES_COLUMNS: leave one of them out"
        )
    if text_pair and family == "classification":
        raise errors.InputError(
            "FAMILY 'classification' takes no PAIR_COLUMN: leave one of"
            " them out, or give 'pair_classification'"
        )
    has_pairs = "text_pair" in table.names and family != "classification"
    if has_pairs or family in ("pair_classification", "similarity"):
        text_pair = text_pair or "text_pair"
    if family == "multiple_choice" or (not family and "choices" in table.names):
        choices = choices or "choices"
    if isinstance(choices, list):
        choices = tuple(choices)
    if family is None:
        labels = [values.get(columns.label) for _, values in table.rows]
        labels = [each for each in labels if not custom_lib.is_empty(each)]
        family = "similarity" if _are_scores(labels) else "pair_classification"
        family = family if text_pair else "classification"
        family = "multiple_choice" if choices else family
    return family, dataclasses.replace(
        columns,
        text_pair=text_pair,
        choices=choices,
        is_score=family == "similarity",
    )


def _are_scores(labels):
    """Return whether all labels are numbers and one of them is fractional."""
    try:
        scores = [float(label) for label in labels]
    except (TypeError, ValueError):
        return False
    return any(
        math.isfinite(score) and not score.is_integer() for score in scores
    )


def _score_space(low, high):
    is_whole = float(low).is_integer() and float(high).is_integer()
    if is_whole and high - low <= _LARGEST_SPAN:
        return task_lib.ScoreDistribution(int(low), int(high))
    return task_lib.Score(float(low), float(high))
