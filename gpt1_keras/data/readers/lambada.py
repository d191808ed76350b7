"""LAMBADA: predict the last word of a passage (Paperno et al. 2016).

The plain text files of https://zenodo.org/records/2630551 have one passage on
each line, lower-cased and tokenised as in the Penn Treebank. The files
`lambada_<split>.jsonl` of OpenAI and of evaluation harnesses, one object with
`text` on each line, have the passages as in the books.
"""

from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

_FILES = {
    "dev": "lambada_development_plain_text.txt",
    "test": "lambada_test_plain_text.txt",
}
_FOLDERS = ("lambada/", "")


def read(data_dir, split):
    """Read a split from `DATA_DIR/lambada`.

    There is no `train`: the official one is a corpus of whole novels, without
    questions. Returns a list of Example: text is the passage without its last
    word, which is the only choice; label 0.
    """
    rows.check_split(split, list(_FILES))
    names = (_FILES[split], f"lambada_{split}.jsonl")
    path = rows.find_file(
        data_dir, [f"{folder}{name}" for name in names for folder in _FOLDERS]
    )
    read_rows = rows.tab_separated
    if path.suffix == ".jsonl":
        read_rows = rows.json_lines
    return rows.collect(path, read_rows(path), _parse)


def _parse(row):
    is_json = isinstance(row, dict)
    text = rows.text_of(row.get("text"), "text") if is_json else " ".join(row)
    *words, last = text.split()
    if not words:
        raise rows.BadRow("a passage of one word")
    return examples.Example(" ".join(words), choices=(last,), label=0)
