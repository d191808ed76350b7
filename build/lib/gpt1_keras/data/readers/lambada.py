"""LAMBADA, from its plain text files with one passage on each line.

Paperno et al. 2016, https://zenodo.org/records/2630551. The task is to
predict the last word of a passage. The files are lower-cased and tokenised as
in the Penn Treebank.
"""

from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

_FILES = {
    "dev": "lambada_development_plain_text.txt",
    "test": "lambada_test_plain_text.txt",
}


def read(data_dir, split):
    """Read a split from `DATA_DIR/lambada`.

    There is no `train`: the official one is a corpus of whole novels, without
    questions. Returns a list of Example: text is the passage without its last
    word, which is the only choice; label 0.
    """
    rows.check_split(split, list(_FILES))
    file = _FILES[split]
    path = rows.find_file(data_dir, [f"lambada/{file}", file])
    return rows.collect(path, rows.tab_separated(path), _parse)


def _parse(row):
    *words, last = " ".join(row).split()
    if not words:
        raise rows.BadRow("a passage of one word")
    return examples.Example(" ".join(words), choices=(last,), label=0)
