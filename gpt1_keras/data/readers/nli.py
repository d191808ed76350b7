"""SciTail 1.0, from the files of its folder `tsv_format`.

Khot et al. 2018, https://allenai.org/data/scitail. The files have no header
and no quoting: premise, hypothesis, label.
"""

from absl import logging

from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

# -----------------------------------------------------------------------------
# SNLI 1.0, from its `.jsonl` files.

SNLI_LABELS = ("entailment", "neutral", "contradiction")
_NO_GOLD_LABEL = "-"


def read_snli(data_dir, split):
    """Read a split from `DATA_DIR/snli`.

    Args:
        data_dir: path of DATA_DIR.
        split: `train`, `dev` or `test`.

    Returns:
        list of Example, labelled.

    Raises:
        InputError: the file is missing, or too many rows are broken.
    """
    rows.check_split(split)
    file = f"snli_1.0_{split}.jsonl"
    path = rows.find_file(
        data_dir,
        [f"snli/{file}", f"snli/snli_1.0/{file}", f"snli_1.0/{file}"],
    )
    num_dropped = 0

    def parse(row):
        nonlocal num_dropped
        if row.get("gold_label") == _NO_GOLD_LABEL:
            num_dropped += 1
            return None
        return examples.Example(
            rows.text_of(row.get("sentence1"), "sentence1"),
            rows.text_of(row.get("sentence2"), "sentence2"),
            label=rows.label_of(row.get("gold_label"), SNLI_LABELS),
        )

    found = rows.collect(path, rows.json_lines(path), parse)
    if num_dropped:
        logging.info("%s: %d rows without a gold label", path, num_dropped)
    rows.check_row_count(data_dir, path, "snli", split, len(found))
    return found


# -----------------------------------------------------------------------------
# SciTail 1.0, from the files of its folder `tsv_format`.

SCITAIL_LABELS = ("entails", "neutral")


def read_scitail(data_dir, split):
    """Read a split from `DATA_DIR/scitail`.

    Args:
        data_dir: path of DATA_DIR.
        split: `train`, `dev` or `test`.

    Returns:
        list of Example, labelled.

    Raises:
        InputError: the file is missing, or too many rows are broken.
    """
    rows.check_split(split)
    file = f"scitail_1.0_{split}.tsv"
    path = rows.find_file(
        data_dir,
        [
            f"scitail/tsv_format/{file}",
            f"scitail/{file}",
            f"scitail/SciTailV1.1/tsv_format/{file}",
            f"SciTailV1.1/tsv_format/{file}",
        ],
    )
    found = rows.collect(path, rows.tab_separated(path), _parse)
    rows.check_row_count(data_dir, path, "scitail", split, len(found))
    return found


def _parse(row):
    if len(row) != 3:
        raise rows.wrong_width(row, 3)
    premise, hypothesis, label = row
    return examples.Example(
        rows.text_of(premise, "premise"),
        rows.text_of(hypothesis, "hypothesis"),
        label=rows.label_of(label.strip(), SCITAIL_LABELS),
    )
