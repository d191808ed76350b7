"""A task of the user's own TSV, CSV or JSONL files with named columns.

| family              | columns                          | label         |
|---------------------|----------------------------------|---------------|
| classification      | text                             | word          |
| pair_classification | text, text_pair                  | word          |
| similarity          | text, text_pair                  | number        |
| multiple_choice     | text, perhaps text_pair, choices | index or text |

The classes, or the range of scores, are those of the train file. A score
between whole numbers at most ten apart is learnt as weights on these numbers,
any other one by regression.
"""

import math
import pathlib

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.layers import heads
from gpt1_keras.tasks import task

# Family -> transform, head, metrics.
_FAMILIES = {
    "classification": (
        transforms.classification,
        heads.SumHead,
        (metrics_lib.accuracy,),
    ),
    "pair_classification": (
        transforms.entailment,
        heads.SumHead,
        (metrics_lib.accuracy,),
    ),
    "similarity": (
        transforms.similarity,
        heads.SumHead,
        (metrics_lib.pearson_and_spearman,),
    ),
    "multiple_choice": (
        transforms.multiple_choice,
        heads.ChoiceHead,
        (metrics_lib.accuracy,),
    ),
}
_MOST_STEPS = 10  # from the lowest score to the highest, to be classes


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
    dev_fraction: float = 0.1,
    seed: checks.Seed = 0,
    low: float | None = None,
    high: float | None = None,
    metrics=None,
    data_dir=None,
):
    """Build the task of a train file and perhaps a dev and a test file.

    Args:
        train, dev, test, dev_fraction, seed, low, high: see
            `readers.custom.CustomFiles`.
        family: str; None finds it: multiple choice where there are choices,
            else similarity where there are second texts and some label is a
            fraction, else (pair) classification.
        text: str, a column, as the next three.
        text_pair: str; None takes "text_pair", if the file has it.
        choices: str, or tuple of str; None takes "choices", if it is there.
        label: str.
        metrics: tuple of functions; None takes accuracy or correlation.
        data_dir: folder of relative paths; None: the current one.

    Raises:
        InputError: a file or an argument is not as it should be.
    """
    table = _open(train, data_dir, family)
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
        files.read(data_dir, split)  # Mistakes are found now.
    transform, build_head, default_metrics = _FAMILIES[family]
    return task.Task(
        name="custom",
        read=files.read,
        transform=transform,
        build_head=build_head,
        target=_target(files, family, data_dir),
        metrics=tuple(metrics or default_metrics),
        is_own=True,
    )


def _open(train, data_dir, family):
    if not train:
        raise errors.InputError(
            "no train file is given: --set \"TRAIN_FILE = 'my.tsv'\""
        )
    checks.check("train", train, checks.Path)
    if family not in (None, *_FAMILIES):
        raise errors.InputError(
            f"FAMILY {family!r} is unknown: give one of {', '.join(_FAMILIES)}"
        )
    return custom_lib.read_table(pathlib.Path(data_dir or "", train))


def _choices(table, family, choices):
    if family in (None, "multiple_choice"):
        if isinstance(choices, list | tuple):
            return tuple(choices)
        is_there = "choices" in table.names or family is not None
        return choices or ("choices" if is_there else None)
    if choices:
        raise errors.InputError(
            f"FAMILY {family!r} takes no CHOICES_COLUMNS: leave one of them out"
        )
    return None


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
    """Whether all labels are numbers and one of them is not whole."""
    try:
        scores = [float(label) for label in labels]
    except (TypeError, ValueError):
        return False
    return any(
        math.isfinite(score) and not score.is_integer() for score in scores
    )


def _target(files, family, data_dir):
    if family == "multiple_choice":
        return task.Choice()
    if family != "similarity":
        return task.Classes(files.words(data_dir))
    return _score_target(*files.score_range(data_dir))


def _score_target(low, high):
    is_whole = float(low).is_integer() and float(high).is_integer()
    if is_whole and high - low <= _MOST_STEPS:
        return task.ScoreDistribution(int(low), int(high))
    return task.Score(float(low), float(high))


def of_preset(preprocessor, *, file, text, text_pair, choices, label):
    """Return the `Task` of a fine-tuned preset on a file of the same kind.

    Family, labels and score range are the preset's; the file is read for
    whatever split is asked for, and its label column may be missing.

    Args:
        preprocessor: the `GPT1TaskPreprocessor` of the preset.
        file: path.
        text, text_pair, choices, label: columns, as in `custom`.
    """
    family = next(
        name
        for name, (transform, _, _) in _FAMILIES.items()
        if transform.__name__ == preprocessor.transform
    )
    table = _open(file, None, family)
    columns = custom_lib.Columns(
        text=text,
        text_pair=_text_pair(table, family, text_pair),
        choices=_choices(table, family, choices),
        label=label,
        is_score=preprocessor.score_range is not None,
    )

    target = _preset_target(preprocessor, family)

    def read(data_dir, split):
        is_labelled = label in table.names
        rows = custom_lib.read_rows(file, columns, is_labelled=is_labelled)
        labelled = [row for row in rows if row.example.label is not None]
        if target.words:
            custom_lib.check_words(file, labelled, target.words)
        elif target.score_range:
            custom_lib.check_scores(file, labelled, *target.score_range)
        return [row.example for row in rows]

    transform, build_head, metrics = _FAMILIES[family]
    return task.Task(
        name="custom",
        read=read,
        transform=transform,
        build_head=build_head,
        target=target,
        metrics=metrics,
        is_own=True,
    )


def _preset_target(preprocessor, family):
    if family == "multiple_choice":
        return task.Choice()
    if preprocessor.score_range is None:
        return task.Classes(preprocessor.label_words)
    if preprocessor.is_regression:
        return task.Score(*preprocessor.score_range)
    return task.ScoreDistribution(*map(int, preprocessor.score_range))
