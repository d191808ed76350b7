"""Natural language inference outside GLUE: SNLI 1.0 and SciTail 1.0.

- SNLI (Bowman et al. 2015), https://nlp.stanford.edu/projects/snli: one JSON
  object on each line.
- SciTail (Khot et al. 2018), https://allenai.org/data/scitail: the files of
  its folder `tsv_format`, without header or quoting: premise, hypothesis,
  label.
"""

from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

SNLI_LABELS = ("entailment", "neutral", "contradiction")
SCITAIL_LABELS = ("entails", "neutral")
_NO_GOLD_LABEL = "-"


def read_snli(data_dir, split):
    """Read `train`, `dev` or `test` of SNLI from `DATA_DIR/snli`.

    Pairs without a gold label are dropped.
    """
    file = f"snli_1.0_{split}.jsonl"
    path = rows.find_file(
        data_dir, [f"snli/{file}", f"snli/snli_1.0/{file}", f"snli_1.0/{file}"]
    )
    return rows.collect(path, rows.json_lines(path), _snli_example)


def _snli_example(row):
    if row.get("gold_label") == _NO_GOLD_LABEL:
        return None
    return examples.Example(
        rows.text_of(row.get("sentence1"), "sentence1"),
        rows.text_of(row.get("sentence2"), "sentence2"),
        label=rows.label_of(row.get("gold_label"), SNLI_LABELS),
    )


def read_scitail(data_dir, split):
    """Read `train`, `dev` or `test` of SciTail from `DATA_DIR/scitail`."""
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

    columns = ("premise", "hypothesis", "label")

    def parse(row):
        *texts, label = row
        return examples.Example(
            *map(rows.text_of, texts, columns),
            label=rows.label_of(label.strip(), SCITAIL_LABELS),
        )

    found = rows.select(path, rows.tab_separated(path), columns, header=columns)
    return rows.collect(path, found, parse)
