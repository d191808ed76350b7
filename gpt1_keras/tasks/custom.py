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

import math
import pathlib

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.tasks import task as task_lib

_LARGEST_SPAN = 10  # of a score that is learned as weights on whole numbers


def custom(
    *,
    train: checks.Path | None,
    dev: checks.Path | None = None,
    test: checks.Path | None = None,
    family: str | None = None,
    text: str = "text",
    text_pair: str | None = None,
    choices: str | tuple[str, ...] | None = None,
    label: str = "label",
    dev_fraction: checks.Fraction = 0.1,
    seed: checks.Seed = 0,
    low: float | None = None,
    high: float | None = None,
    metrics=None,
    data_dir: checks.Path | None = None,
):
    """Return the task of a train file, and optionally a dev and a test file.

    Args:
        train, dev, test, dev_fraction, seed, low, high: see
            `readers.custom.CustomFiles`.
        family: str, see the module. None infers it: multiple choice if there
            are choices; else similarity if there are second texts and some
            label is a fraction; else (pair) classification.
        text: str, a column, as the next three.
        text_pair: str; None takes "text_pair" if the file has it.
        choices: str, or tuple of str; None takes "choices" if the file has it.
        label: str.
        metrics: tuple of functions; None takes accuracy or correlation.
        data_dir: folder of relative paths; None: the current one.

    Raises:
        InputError: a file or an argument is invalid.
    """
    table = _read_table(train, data_dir, family)
    choices = _choices(table, family, choices)
    text_pair = _text_pair(table, family, text_pair)
    family = family or _family(table, text_pair, choices, label)
    files = custom_lib.CustomFiles(
        train=train,
        dev=dev,
        test=test,
        columns=custom_lib.Columns(
            text=text,
            text_pair=text_pair,
            choices=choices,
            label=label,
            is_score=family == "similarity",
        ),
        dev_fraction=dev_fraction,
        seed=seed,
        low=low,
        high=high,
    )
    for split in ("train", "dev") if test is None else ("train", "dev", "test"):
        files.read(data_dir, split)  # Report mistakes now.
    if family == "multiple_choice":
        label_space = task_lib.Choice()
    elif family == "similarity":
        label_space = _score_space(*files.score_range(data_dir))
    else:
        label_space = task_lib.Classes(files.class_names(data_dir))
    return _task(files.read, family, label_space, metrics)


def of_preset(
    preprocessor,
    *,
    file: checks.Path,
    text: str,
    text_pair: str | None,
    choices: str | tuple[str, ...] | None,
    label: str,
):
    """Return the task of a fine-tuned preset on a file of the same form.

    Family, classes and score range are the preset's. The file stands for
    every split, and its label column may be missing.

    Args:
        preprocessor: the `GPT1TaskPreprocessor` of the preset.
        file: path.
        text, text_pair, choices, label: columns, as in `custom`.
    """
    family = next(
        name
        for name, (transform, _) in task_lib.TASK_TYPES.items()
        if transform.__name__ == preprocessor.transform
    )
    table = _read_table(file, None, family)
    columns = custom_lib.Columns(
        text=text,
        text_pair=_text_pair(table, family, text_pair),
        choices=_choices(table, family, choices),
        label=label,
        is_score=preprocessor.score_range is not None,
    )
    label_space = task_lib.label_space_of(preprocessor)

    def read(data_dir, split):
        is_labelled = label in table.names
        rows = custom_lib.read_rows(file, columns, is_labelled=is_labelled)
        labelled = [row for row in rows if row.example.label is not None]
        if label_space.class_names:
            custom_lib.check_classes(file, labelled, label_space.class_names)
        elif label_space.score_range:
            custom_lib.check_scores(file, labelled, *label_space.score_range)
        return [row.example for row in rows]

    return _task(read, family, label_space)


def _task(reader, family, label_space, metrics=None):
    transform, build_head = task_lib.TASK_TYPES[family]
    default = metrics_lib.accuracy
    if label_space.score_range:
        default = metrics_lib.pearson_and_spearman
    return task_lib.Task(
        name="custom",
        reader=reader,
        transform=transform,
        build_head=build_head,
        label_space=label_space,
        metrics=tuple(metrics or (default,)),
        is_own=True,
    )


def _read_table(train, data_dir, family):
    if not train:
        raise errors.InputError(
            "no train file is given: --set \"TRAIN_FILE = 'my.tsv'\""
        )
    checks.check("train", train, checks.Path)
    if family not in (None, *task_lib.TASK_TYPES):
        raise errors.InputError(
            f"FAMILY {family!r} is unknown: give one of"
            f" {', '.join(task_lib.TASK_TYPES)}"
        )
    return custom_lib.read_table(pathlib.Path(data_dir or "", train))


def _choices(table, family, choices):
    if family not in (None, "multiple_choice"):
        if choices:
            raise errors.InputError(
                f"FAMILY {family!r} takes no CHOICES_COLUMNS: leave one of"
                " them out"
            )
        return None
    if isinstance(choices, list | tuple):
        return tuple(choices)
    is_there = "choices" in table.names or family is not None
    return choices or ("choices" if is_there else None)


def _text_pair(table, family, text_pair):
    if family == "classification":
        if text_pair:
            raise errors.InputError(
                "FAMILY 'classification' takes no PAIR_COLUMN: leave one of"
                " them out, or give 'pair_classification'"
            )
        return None
    is_needed = family in ("pair_classification", "similarity")
    is_there = "text_pair" in table.names or is_needed
    return text_pair or ("text_pair" if is_there else None)


def _family(table, text_pair, choices, label):
    if choices:
        return "multiple_choice"
    if not text_pair:
        return "classification"
    labels = [values.get(label) for _, values in table.rows]
    return "similarity" if _are_scores(labels) else "pair_classification"


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
