"""Natural language inference outside GLUE: SNLI 1.0 and SciTail 1.0.

- SNLI (Bowman et al. 2015), https://nlp.stanford.edu/projects/snli: one JSON
  object on each line. Pairs without a gold label are dropped.
- SciTail (Khot et al. 2018), https://allenai.org/data/scitail: the folder
  `tsv_format`, without header or quoting.
"""

from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import rows

SCITAIL_LABELS = ("entails", "neutral")


def read_snli(data_dir, split):
    """Read `train`, `dev` or `test` of SNLI from `DATA_DIR/snli`."""
    folders = ["snli", "snli/snli_1.0", "snli_1.0"]
    path = rows.find_file(data_dir, folders, f"snli_1.0_{split}.jsonl")
    texts, label = ("sentence1", "sentence2"), "gold_label"
    parse = glue.parser(texts, glue.THREE_WAY, label)

    def parse_judged(row):  # "-": the annotators disagree.
        return None if row.get(label) == "-" else parse(row)

    return rows.collect(path, rows.json_lines(path), parse_judged)


def read_scitail(data_dir, split):
    """Read `train`, `dev` or `test` of SciTail from `DATA_DIR/scitail`."""
    folders = ["scitail/tsv_format", "scitail"]
    folders += ["scitail/SciTailV1.1/tsv_format", "SciTailV1.1/tsv_format"]
    path = rows.find_file(data_dir, folders, f"scitail_1.0_{split}.tsv")
    texts = ("premise", "hypothesis")
    _, found = rows.named(path, rows.tab_separated(path), [*texts, "label"])
    return rows.collect(path, found, glue.parser(texts, SCITAIL_LABELS))
