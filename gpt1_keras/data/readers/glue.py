"""The tasks of the GLUE benchmark, from its `.tsv` files.

Wang et al. 2018, https://gluebenchmark.com. Each function reads a split
(`train`, `dev` or `test`) of one task from `DATA_DIR/glue/<folder>` or
`DATA_DIR/<folder>`. Columns are found by the names in the header.

The test files have no labels (`label=None`), and the server expects a
prediction for each of their rows: a bad row becomes an example with an empty
text.
"""

import functools
import math
import typing

from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

BINARY = ("0", "1")
THREE_WAY = ("entailment", "neutral", "contradiction")
TWO_WAY = ("entailment", "not_entailment")
LOWEST_SCORE, HIGHEST_SCORE = 0, 5


class _Table(typing.NamedTuple):
    """The folder of a task, and the columns of its files.

    `texts` are the one or two with text; `class_names` is () for a score.
    """

    folder: str
    texts: tuple
    label: str
    class_names: tuple


_SENTENCES = ("sentence1", "sentence2")
_COLA = _Table("CoLA", ("sentence",), "label", BINARY)
_COLA_HEADER = ("source", "label", "mark", "sentence")  # not in the files
_SST2 = _Table("SST-2", ("sentence",), "label", BINARY)
_MRPC = _Table("MRPC", ("#1 String", "#2 String"), "Quality", BINARY)
_QQP = _Table("QQP", ("question1", "question2"), "is_duplicate", BINARY)
_STSB = _Table("STS-B", _SENTENCES, "score", ())
_MNLI = _Table("MNLI", _SENTENCES, "gold_label", THREE_WAY)
_QNLI = _Table("QNLI", ("question", "sentence"), "label", TWO_WAY)
_RTE = _Table("RTE", _SENTENCES, "label", TWO_WAY)
_WNLI = _Table("WNLI", _SENTENCES, "label", BINARY)
_AX = _Table("diagnostic", _SENTENCES, "label", THREE_WAY)


def read_cola(data_dir, split):
    """CoLA: is a sentence acceptable? Only the test file has a header."""
    header = None if split == "test" else _COLA_HEADER
    return _read(_COLA, data_dir, split, header=header)


def read_mnli(data_dir, split):
    """MNLI: does a premise entail a hypothesis?

    dev and test are the matched file followed by the mismatched one (genres
    that are not in train), each as a group. If the latter is missing, the
    matched one alone is read, with a warning.
    """
    if split == "train":
        return _read(_MNLI, data_dir, split)
    found = _read(_MNLI, data_dir, split, "matched")
    try:
        _find(_MNLI, data_dir, f"{split}_mismatched.tsv")
    except errors.InputError as error:
        logging.warning("%s; reading only the matched rows", error)
        return found
    return found + _read(_MNLI, data_dir, split, "mismatched")


def _read(table, data_dir, split, group="", *, file=None, header=None):
    suffix = f"_{group}" if group else ""
    path = _find(table, data_dir, file or f"{split}{suffix}.tsv")
    is_test = split == "test"
    return rows.collect(
        path,
        rows.select(
            path,
            rows.tab_separated(path),
            table.texts if is_test else (*table.texts, table.label),
            optional=(table.label,) if is_test else (),
            header=header,
        ),
        lambda row: _parse(table, row, group),
        substitute=examples.Example("", group=group) if is_test else None,
    )


# Is a film review positive?
read_sst2 = functools.partial(_read, _SST2)
# Do two sentences from the news say the same?
read_mrpc = functools.partial(_read, _MRPC)
# Do two questions on Quora ask the same?
read_qqp = functools.partial(_read, _QQP)
# How similar are two sentences? Labels are floats from 0 to 5.
read_stsb = functools.partial(_read, _STSB)
# Does a sentence contain the answer to a question?
read_qnli = functools.partial(_read, _QNLI)
# Does a text entail a hypothesis?
read_rte = functools.partial(_read, _RTE)
# Does a sentence entail itself with its pronoun replaced?
read_wnli = functools.partial(_read, _WNLI)


def read_ax(data_dir, split):
    """AX, the diagnostic set of GLUE: as MNLI, with only a `test` split."""
    rows.check_split("ax", split, ["test"])
    return _read(_AX, data_dir, split, file="diagnostic.tsv")


def _find(table, data_dir, file):
    place = f"{table.folder}/{file}"
    return rows.find_file(data_dir, [f"glue/{place}", place])


def _parse(table, row, group=""):
    *texts, label = row
    texts = map(rows.text_of, texts, table.texts)
    text, text_pair = (*texts, "")[:2]
    if label is not None:
        if table.class_names:
            label = rows.label_of(label.strip(), table.class_names)
        else:
            label = _score(label)
    return examples.Example(text, text_pair, label=label, group=group)


def _score(text):
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not LOWEST_SCORE <= score <= HIGHEST_SCORE:
        raise rows.BadRow(
            f"score {text!r} is not a number from {LOWEST_SCORE} to"
            f" {HIGHEST_SCORE}"
        )
    return score
