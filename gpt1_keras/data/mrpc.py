"""MRPC as GLUE has it, from the files that GLUE's own script starts with.

GLUE may not pass the corpus on. Its script (nyu-mll/GLUE-baselines,
download_glue_data.py) splits the training file by a list of pairs into train
and dev, and numbers the rows of the test file.
"""

from gpt1_keras import files
from gpt1_keras.errors import InputError

_NUM_COLUMNS = 5  # label, two ids, two sentences


def write_tables(train_file, test_file, dev_ids_file, directory):
    """Write `train.tsv`, `dev.tsv` and `test.tsv`.

    Args:
        train_file: pathlib.Path of `msr_paraphrase_train.txt`.
        test_file: pathlib.Path of `msr_paraphrase_test.txt`.
        dev_ids_file: pathlib.Path of the pairs of ids that are dev.
        directory: pathlib.Path of an existing folder.

    Raises:
        InputError: a file is none of these.
    """
    dev_ids = {tuple(row) for row in _rows(dev_ids_file, 2)}
    header, *rows = _rows(train_file, _NUM_COLUMNS)
    is_dev = [tuple(row[1:3]) in dev_ids for row in rows]
    if not 0 < sum(is_dev) < len(rows):
        raise InputError(
            f"{dev_ids_file}: {sum(is_dev)} of its pairs are in {train_file}: "
            "the files do not belong together"
        )
    for name, wanted in (("train", False), ("dev", True)):
        kept = [row for row, found in zip(rows, is_dev) if found == wanted]
        _write(directory / f"{name}.tsv", [header, *kept])
    header, *rows = _rows(test_file, _NUM_COLUMNS)
    # The label, the first column, makes way for the number of the row.
    numbered = [[str(i), *row[1:]] for i, row in enumerate(rows)]
    _write(directory / "test.tsv", [["index", *header[1:]], *numbered])


def _rows(path, num_columns):
    """Return the rows of a table; a byte-order mark stays where it is."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 ({error.reason}): remove it and fetch it "
            "again"
        ) from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != num_columns:
            raise InputError(
                f"{path} line {number} has {len(row)} columns, not "
                f"{num_columns}: remove it and fetch it again"
            )
    return rows


def _write(path, rows):
    files.write_atomic(path, "".join("\t".join(row) + "\n" for row in rows))
