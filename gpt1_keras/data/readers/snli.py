"""SNLI 1.0, from its `.jsonl` files.

Bowman et al. 2015, https://nlp.stanford.edu/projects/snli. Pairs on which the
annotators did not agree have the gold label "-" and are left out, as in all
published results.
"""

from absl import logging

from gpt1_keras.data import examples
from gpt1_keras.data.readers import places
from gpt1_keras.data.readers import row_counts
from gpt1_keras.data.readers import rows

LABELS = ("entailment", "neutral", "contradiction")
_NO_GOLD_LABEL = "-"


def read(data_dir, split):
    """Read a split from `DATA_DIR/snli`.

    Args:
        data_dir: path of DATA_DIR.
        split: `train`, `dev` or `test`.

    Returns:
        list of Example, labelled.

    Raises:
        InputError: the file is missing, or too many rows are broken.
    """
    places.check_split(split)
    file = f"snli_1.0_{split}.jsonl"
    path = places.find(
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
            label=rows.label_of(row.get("gold_label"), LABELS),
        )

    found = rows.collect(path, rows.json_lines(path), parse)
    if num_dropped:
        logging.info("%s: %d rows without a gold label", path, num_dropped)
    row_counts.check(data_dir, path, "snli", split, len(found))
    return found
