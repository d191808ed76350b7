"""Natural language inference outside GLUE: SNLI 1.0 and SciTail 1.0.

- SNLI (Bowman et al. 2015), https://nlp.stanford.edu/projects/snli: one JSON
  object on each line. Pairs without a gold label are dropped.
- SciTail (Khot et al. 2018), https://allenai.org/data/scitail: the folder
  `tsv_format`, without header or quoting.
"""

from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import rows

SCITAIL_LABELS = ("entails", "neutral")


def read_snli(data_dir, split):
    """Read `train`, `dev` or `test` of SNLI from `DATA_DIR/snli`."""
    folders = ["snli", "snli/snli_1.0", "snli_1.0"]
    path = rows.find_file(data_dir, folders, f"snli_1.0_{split}.jsonl")
    return rows.collect(path, rows.json_lines(path), _snli_example)


def _snli_example(row):
    label = row.get("gold_label")
    if label == "-":  # The annotators disagree.
        return None
    return examples.Example(
        rows.text_of(row.get("sentence1"), "sentence1"),
        rows.text_of(row.get("sentence2"), "sentence2"),
        label=rows.label_of(label, glue.THREE_WAY),
    )


def read_scitail(data_dir, split):
    """Read `train`, `dev` or `test` of SciTail from `DATA_DIR/scitail`."""
    folders = ["scitail/tsv_format", "scitail"]
    folders += ["scitail/SciTailV1.1/tsv_format", "SciTailV1.1/tsv_format"]
    path = rows.find_file(data_dir, folders, f"scitail_1.0_{split}.tsv")
    columns = ["premise", "hypothesis", "label"]
    _, found = rows.named(path, rows.tab_separated(path), columns)
    return rows.collect(path, found, _scitail_example)


def _scitail_example(row):
    return examples.Example(
        rows.text_of(row["premise"], "premise"),
        rows.text_of(row["hypothesis"], "hypothesis"),
        label=rows.label_of(row["label"], SCITAIL_LABELS),
    )
