"""A task from the user's own TSV, CSV or JSONL files with named columns.

| family              | columns                             | label         |
|---------------------|-------------------------------------|---------------|
| classification      | text                                | class name    |
| pair_classification | text, text_pair                     | class name    |
| similarity          | text, text_pair                     | number        |
| multiple_choice     | text, text_pair (optional), choices | index or text |

Classes and score range are those of the train file. A score whose lowest and
highest values are whole numbers at most ten apart is learned as a distribution
over the whole numbers between them, any other score by regression.
"""

import collections
import dataclasses
import math
import pathlib
import re
import typing

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.data.readers import rows as rows_lib
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.tasks import task as task_lib

_FAMILIES = {
    "classification": transforms.classification,
    "pair_classification": transforms.entailment,
    "similarity": transforms.similarity,
    "multiple_choice": transforms.multiple_choice,
}
_FAMILY_OF = {each.__name__: name for name, each in _FAMILIES.items()}
# Argument -> the families that take it; all families take all others.
_TAKEN_BY = {
    "text_pair": ("pair_classification", "similarity", "multiple_choice"),
    "choices": ("multiple_choice",),
    "class_weights": ("classification", "pair_classification"),
    "low": ("similarity",),
    "high": ("similarity",),
}
Family = typing.Literal[*_FAMILIES]
Metric = typing.Literal["accuracy", "macro_f1", "pearson", "spearman"]
Balanced = typing.Literal["balanced"]
Choices = checks.Column | tuple[checks.Column, ...]
_RARE = 0.1  # share of the training rows below which accuracy ignores a class
_LARGEST_SPAN = 10  # of a score that is learned as a distribution


def custom(
    *,
    train: checks.Path,
    dev: checks.Path | None = None,
    test: checks.Path | None = None,
    family: Family | None = None,
    text: checks.Column = "text",
    text_pair: checks.Column | None = None,
    choices: Choices | None = None,
    label: checks.Column = "label",
    dev_fraction: checks.Fraction = 0.1,
    seed: checks.Seed = 0,
    low: float | None = None,
    high: float | None = None,
    bad_rows: custom_lib.BadRows = "stop",
    class_weights: Balanced | tuple[checks.Positive, ...] | None = None,
    metric: Metric | None = None,
    data_dir: checks.Location[checks.Path | None] = None,
):
    """Return the task of a train file, and optionally a dev and a test file.

    gin/finetune/custom.gin and gin/data/own_rows.gin describe the arguments.

    Args:
        family: None infers it: multiple choice if there are choices; else
            similarity if there are second texts and some label is a fraction;
            else (pair) classification.
        text, text_pair, choices, label: columns, see `readers.custom.Columns`;
            None takes `text_pair` and `choices` if the file has them.
        class_weights: "balanced": N / (Y n) for a class with `n` of `N`
            training rows among `Y` classes.
        data_dir: folder of relative paths; None: the current one.
    """
    if low is not None and high is not None and low >= high:
        raise errors.InputError(
            f"`low` is {low}: give less than `high`, {high}"
        )
    folder = pathlib.Path(data_dir or "")
    table = custom_lib.read_table(folder / train)
    others = {"class_weights": class_weights, "low": low, "high": high}
    family, columns = _inferred(
        table, family, text, text_pair, choices, label, others
    )
    skipped = [] if bad_rows == "skip" else None
    examples, known = custom_lib.read_splits(
        table,
        dev=dev and folder / dev,
        test=test and folder / test,
        columns=columns,
        dev_fraction=dev_fraction,
        seed=seed,
        low=low,
        high=high,
        skipped=skipped,
    )
    label_space = task_lib.Choice()
    if known.score_range:
        label_space = _score_space(*known.score_range)
    elif names := known.class_names:
        counts = collections.Counter(row.label for row in examples["train"])
        total, rarest = counts.total(), min(names, key=lambda n: counts[n])
        weights = _class_weights(class_weights, names, counts)
        label_space = task_lib.Classes(names, weights)
        if counts[rarest] < _RARE * total:
            metric = metric or "macro_f1"
            logging.warning(
                f"class {rarest!r} has only {counts[rarest]} of the {total:,}"
                f" training rows in {table.path}, which accuracy hardly shows:"
                f" the main metric is {metric} (custom.custom.metric)"
            )
    return _task(
        lambda data_dir, split: examples[split],
        family,
        label_space,
        skipped,
        metric,
        has_labelled_test=test is not None,
    )


def _class_weights(given, names, counts):
    """Return a weight for each class, None if all weigh the same."""
    if given is None:
        return None
    if given == "balanced":
        given = [
            counts.total() / (len(names) * max(counts[n], 1)) for n in names
        ]
    if len(given) != len(names):
        raise errors.InputError(
            f"`class_weights` has {len(given)} weights, but there are"
            f" {len(names)} classes: give one for each of {', '.join(names)}"
        )
    shown = ", ".join(f"{n!r} {w:.4g}" for n, w in zip(names, given))
    logging.info(f"class weights: {shown}")
    return given


def of_preset(
    preprocessor,
    *,
    file: checks.Path,
    text: checks.Column,
    text_pair: checks.Column | None,
    choices: Choices | None,
    label: checks.Column | None,
    bad_rows: custom_lib.BadRows = "stop",
    data_dir: checks.Location[checks.Path | None] = None,
):
    """Return the task of a fine-tuned preset, with a file of the same form.

    Family, classes and score range are those of the `GPT1TaskPreprocessor`.
    The file ("-" for standard input) is read at once and serves as every split.
    Its label column may be missing, and is not read if `label` is None.
    """
    path = pathlib.Path(data_dir or "") / file
    if str(file) == "-":
        has_columns = text != "text" or any((text_pair, choices, label))
        path = rows_lib.StandardInput(text, has_columns)
    table = custom_lib.read_table(path, text)
    family = _FAMILY_OF[preprocessor.transform]
    _, columns = _inferred(table, family, text, text_pair, choices, label, {})
    if label is not None and table.names and label not in table.names:
        found = ", ".join(map(repr, table.names))
        logging.warning(
            f"{path} has no column {label!r} to score by (found: {found})"
        )
    space = task_lib.label_space_of(preprocessor)
    skipped = [] if bad_rows == "skip" else None
    rows = custom_lib.read_rows(
        table,
        dataclasses.replace(columns, is_score=bool(space.score_range)),
        is_labelled=label in table.names,
        known=custom_lib.Known(space.class_names or None, space.score_range),
        skipped=skipped,
    )
    return task_of(preprocessor, lambda data_dir, split: rows, skipped)


def task_of(preprocessor, reader, skipped=None):
    """Return a preset's task; `reader` and `skipped` are those of `Task`."""
    space = task_lib.label_space_of(preprocessor)
    return _task(reader, _FAMILY_OF[preprocessor.transform], space, skipped)


def _task(reader, family, label_space, skipped, metric=None, **more):
    measure = metrics_lib.accuracy
    if label_space.score_range:
        measure = metrics_lib.pearson_and_spearman
    elif label_space.class_names:
        measure = metrics_lib.accuracy_and_macro_f1
    names = measure([0, 1], [0, 1])
    if metric not in (None, *names):
        raise errors.InputError(
            f"`metric` is {metric!r}, but {family.replace('_', ' ')} is"
            f" measured by {' and '.join(names)}: give one of them"
        )
    return task_lib.Task(
        name="custom",
        reader=reader,
        transform=_FAMILIES[family],
        label_space=label_space,
        metric=measure,
        is_own=True,
        skipped=skipped,
        main_metric=metric,
        **more,
    )


def _inferred(table, family, text, text_pair, choices, label, others):
    """Return family and `Columns`, inferred from the table unless given.

    `others` are arguments that only some families take (`_TAKEN_BY`).
    """
    has_pairs = text_pair or "text_pair" in table.names
    if family is None:
        family = "pair_classification" if has_pairs else "classification"
        if has_pairs and _are_scores(table, label):
            family = "similarity"
        if choices or "choices" in table.names:
            family = "multiple_choice"
        if family == "classification":
            _warn_of_fractions(table, label)
    given = {"text_pair": text_pair, "choices": choices, **others}
    for name, value in given.items():
        if value is not None and family not in _TAKEN_BY[name]:
            problem = f"`family` {family!r} takes no `{name}`"
            raise errors.InputError(f"{problem}: leave it out, or set `family`")
    is_choice = family == "multiple_choice"
    choices = choices or ("choices" if is_choice else ())
    # Choices may go without a question.
    if family != "classification" and (has_pairs or not is_choice):
        text_pair = text_pair or "text_pair"
    choices = (choices,) if isinstance(choices, str) else choices
    named = [name for name in (text, text_pair, *choices, label) if name]
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        problem = f"column {twice[0]!r} is given twice"
        remedy = "give each of `text`, `text_pair`, `choices`, `label` its own"
        raise errors.InputError(f"{problem}: {remedy}")
    return family, custom_lib.Columns(
        text=text,
        text_pair=text_pair,
        choices=tuple(choices),
        label=label,
        is_score=family == "similarity",
    )


def _are_scores(table, label):
    """Return whether most labels are numbers and one of them is fractional.

    The others then are unusable rows, since they may be mistakes.
    """
    labels = _labels(table, label)
    numbers = [e for e in labels if re.fullmatch(r"-?\d+(,\d+)?", str(e))]
    commas = [e for e in numbers if "," in str(e)]
    if commas and 2 * len(numbers) > len(labels):
        raise errors.InputError(
            f"{table.path}: the labels, such as {commas[0]!r}, have decimal"
            " commas: write points, or set `family` if they are classes"
        )
    return _first_fraction(labels) is not None


def _labels(table, column):
    """Return the labels of a table, without missing ones."""
    labels = [values.get(column) for _, values in table.rows]
    labels = [label for label in labels if not custom_lib.is_empty(label)]
    return [e for e in labels if str(e).casefold() not in custom_lib.MISSING]


def _first_fraction(labels):
    """Return the first fractional label if most are numbers, else None."""
    scores = list(map(rows_lib.number_of, labels))
    if 2 * sum(map(math.isnan, scores)) < len(scores):
        for label, score in zip(labels, scores):
            if math.isfinite(score) and not score.is_integer():
                return label
    return None


def _warn_of_fractions(table, column):
    """Warn about labels of single texts that look like scores."""
    fraction = _first_fraction(_labels(table, column))
    if fraction is not None:
        logging.warning(
            f"{table.path}: labels such as {fraction!r} are learned as names of"
            " classes; only pairs of texts can have scores"
        )


def _score_space(low, high):
    is_whole = float(low).is_integer() and float(high).is_integer()
    if is_whole and high - low <= _LARGEST_SPAN:
        return task_lib.ScoreDistribution(int(low), int(high))
    return task_lib.Score(float(low), float(high))
