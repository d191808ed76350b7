"""SciTail 1.0, from the files of its folder `tsv_format`.

Khot et al. 2018, https://allenai.org/data/scitail. The files have no header
and no quoting: premise, hypothesis, label.
"""

from gpt1_keras.data import examples
from gpt1_keras.data.readers import places
from gpt1_keras.data.readers import row_counts
from gpt1_keras.data.readers import rows

LABELS = ("entails", "neutral")


def read(data_dir, split):
    """Read a split from `DATA_DIR/scitail`.

    Args:
        data_dir: path of DATA_DIR.
        split: `train`, `dev` or `test`.

    Returns:
        list of Example, labelled.

    Raises:
        InputError: the file is missing, or too many rows are broken.
    """
    places.check_split(split)
    file = f"scitail_1.0_{split}.tsv"
    path = places.find(
        data_dir,
        [
            f"scitail/tsv_format/{file}",
            f"scitail/{file}",
            f"scitail/SciTailV1.1/tsv_format/{file}",
            f"SciTailV1.1/tsv_format/{file}",
        ],
    )
    found = rows.collect(path, rows.tab_separated(path), _parse)
    row_counts.check(data_dir, path, "scitail", split, len(found))
    return found


def _parse(row):
    if len(row) != 3:
        raise rows.wrong_width(row, 3)
    premise, hypothesis, label = row
    return examples.Example(
        rows.text_of(premise, "premise"),
        rows.text_of(hypothesis, "hypothesis"),
        label=rows.label_of(label.strip(), LABELS),
    )
