"""LAMBADA, from its plain text files: a passage a line.

Paperno et al. 2016, https://zenodo.org/records/2630551. The last word of a
passage is to be guessed; the files are in lower case, their words apart from
punctuation as in the Penn Treebank.
"""

from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

_FILES = {
    "dev": "lambada_development_plain_text.txt",
    "test": "lambada_test_plain_text.txt",
}


def read(data_dir, split):
    """Read a split from `DATA_DIR/lambada`.

    Args:
        data_dir: path of DATA_DIR.
        split: `dev` or `test`; what is called its training set is a corpus of
            whole novels, without questions.

    Returns:
        list of Example: text is the passage without its last word, which is
        the only one of the choices; label 0.

    Raises:
        InputError: the file is missing, or too many lines are broken.
    """
    rows.check_split(split, list(_FILES))
    file = _FILES[split]
    path = rows.find_file(data_dir, [f"lambada/{file}", file])
    found = rows.collect(path, rows.tab_separated(path), _parse)
    rows.check_row_count(data_dir, path, "lambada", split, len(found))
    return found


def _parse(row):
    words = " ".join(row).split()
    if len(words) < 2:
        raise rows.BadRow("a passage of one word")
    return examples.Example(" ".join(words[:-1]), choices=(words[-1],), label=0)
