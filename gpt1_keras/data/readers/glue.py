"""The tasks of the GLUE benchmark, from its `.tsv` files.

Wang et al. 2018, https://gluebenchmark.com. Each function reads a split
(`train`, `dev` or `test`) of one task from `DATA_DIR/glue/<folder>` or
`DATA_DIR/<folder>`. Columns are found by the names in the header.

Test files have no labels (`label=None`). The server expects a prediction for
each of their rows, so a bad one becomes an example with an empty text.
"""

import functools

from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

BINARY = ("0", "1")
THREE_WAY = ("entailment", "neutral", "contradiction")
TWO_WAY = ("entailment", "not_entailment")
LOWEST_SCORE, HIGHEST_SCORE = 0, 5
_SENTENCES = ("sentence1", "sentence2")
# Of the training and the dev file, which have no header.
_COLA_HEADER = ("source", "label", "mark", "sentence")


def _read(
    folder,
    texts,
    class_names,
    data_dir,
    split,
    *,
    label="label",
    file=None,
    group="",
    header=None,
):
    """Return the examples of a file, by default `<split>.tsv`.

    `texts` and `label` name columns; `class_names` is () for a score.
    """
    name = f"{split}_{group}" if group else split
    path = _find(data_dir, folder, file or f"{name}.tsv")
    is_test = split == "test"
    parse = parser(texts, class_names, label, group=group, is_test=is_test)
    _, named = rows.named(path, rows.tab_separated(path), header)
    substitute = None
    if is_test:
        named = _in_order(path, named)
        substitute = examples.Example("", group=group)
    return rows.collect(path, named, parse, substitute=substitute)


def parser(texts, class_names, label="label", *, group="", is_test=False):
    """Return a function from a row {column: str} to an Example; see `_read`."""

    def parse(row):
        found = [rows.text_of(row.get(column), column) for column in texts]
        value = row.get(label)
        if value is not None or not is_test:
            value = _label(value, class_names)
        return examples.Example(*found, label=value, group=group)

    return parse


def _in_order(path, named):
    """Yield the rows of a test file; refuse them if their `index` is mixed up.

    The server compares the predictions with labels in the order of `index`.
    """
    before = None
    for line, row in named:
        index = row.get("index", "") if isinstance(row, dict) else ""
        number = int(index) if index.isdecimal() else None
        if None not in (before, number) and number != before + 1:
            raise errors.InputError(
                f"{path} line {line}: `index` is {number} after {before}: use"
                " the official file, whose rows are in order"
            )
        before = number
        yield line, row


def _find(data_dir, folder, file):
    return rows.find_file(data_dir, [f"glue/{folder}", folder], file)


def _label(value, class_names):
    if class_names:
        return rows.label_of(value, class_names)
    score = rows.number_of(value)
    if not LOWEST_SCORE <= score <= HIGHEST_SCORE:
        raise rows.BadRow(
            f"score {value!r} is not a number from {LOWEST_SCORE} to"
            f" {HIGHEST_SCORE}"
        )
    return score


# Is a film review positive?
read_sst2 = functools.partial(_read, "SST-2", ["sentence"], BINARY)
# Do two sentences from the news say the same?
read_mrpc = functools.partial(
    _read, "MRPC", ["#1 String", "#2 String"], BINARY, label="Quality"
)
# Do two questions on Quora ask the same?
read_qqp = functools.partial(
    _read, "QQP", ["question1", "question2"], BINARY, label="is_duplicate"
)
# How similar are two sentences? Labels are floats from 0 to 5.
read_stsb = functools.partial(_read, "STS-B", _SENTENCES, (), label="score")
# Does a sentence contain the answer to a question?
read_qnli = functools.partial(_read, "QNLI", ["question", "sentence"], TWO_WAY)
# Does a text entail a hypothesis?
read_rte = functools.partial(_read, "RTE", _SENTENCES, TWO_WAY)
# Does a sentence entail itself with its pronoun replaced?
read_wnli = functools.partial(_read, "WNLI", _SENTENCES, BINARY)
# The diagnostic set of GLUE: as MNLI, with only a `test` split.
read_ax = functools.partial(
    _read, "diagnostic", _SENTENCES, THREE_WAY, file="diagnostic.tsv"
)


def read_cola(data_dir, split):
    """CoLA: is a sentence acceptable? Only the test file has a header."""
    header = None if split == "test" else _COLA_HEADER
    return _read("CoLA", ["sentence"], BINARY, data_dir, split, header=header)


def read_mnli(data_dir, split):
    """MNLI: does a premise entail a hypothesis?

    dev and test have the groups "matched" and "mismatched" (genres that are not
    in train), each from a file of its own; the latter may be missing.
    """
    place = ("MNLI", _SENTENCES, THREE_WAY, data_dir, split)
    read = functools.partial(_read, *place, label="gold_label")
    if split == "train":
        return read()
    matched = read(group="matched")
    try:
        _find(data_dir, "MNLI", f"{split}_mismatched.tsv")
    except errors.InputError:
        logging.warning("no MNLI/%s_mismatched.tsv: matched rows only", split)
        return matched
    return matched + read(group="mismatched")
