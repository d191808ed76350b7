"""Labelled examples in the official file formats of the benchmarks.

Every function returns {path below DATA_DIR: text of the file}. `parts` is
{split: list of Example}; the splits are train, dev and test. GLUE's test
files have an index and no labels.
"""

import collections
import csv
import io
import json
import re
from xml.etree import ElementTree

_PAIR = ("index", "sentence1", "sentence2", "label")
# Folder -> columns of train and dev.
_GLUE = {
    "CoLA": ("source", "label", "mark", "sentence"),
    "SST-2": ("sentence", "label"),
    "MRPC": ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
    "QQP": (
        *("id", "qid1", "qid2", "question1", "question2"),
        "is_duplicate",
    ),
    "STS-B": (
        *("index", "genre", "filename", "year", "old_index", "source1"),
        *("source2", "sentence1", "sentence2", "score"),
    ),
    "MNLI": (
        *("index", "promptID", "pairID", "genre", "sentence1_binary_parse"),
        *("sentence2_binary_parse", "sentence1_parse", "sentence2_parse"),
        *("sentence1", "sentence2", "label1", "gold_label"),
    ),
    "QNLI": ("index", "question", "sentence", "label"),
    "RTE": _PAIR,
    "WNLI": _PAIR,
}
# Test files have no labels, and an index even where the others have none.
_LABELS = ("label", "is_duplicate", "score", "label1", "gold_label", "Quality")
_TEST = {
    "CoLA": ("index", "sentence"),
    "SST-2": ("index", "sentence"),
    "MRPC": ("index", "#1 ID", "#2 ID", "#1 String", "#2 String"),
    "QQP": ("id", "question1", "question2"),
}
_CLOZE_NAME = "story_cloze/cloze_test_{}__spring2016 - cloze_test_ALL_{}.csv"
_CLOZE_COLUMNS = (
    "InputStoryid",
    *(f"InputSentence{number}" for number in range(1, 5)),
    *("RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2"),
    "AnswerRightEnding",
)
_HIDDEN = "[MASK]"


def glue(folder, parts):
    """Return the .tsv files of a GLUE task, with the columns of `_GLUE`."""
    found = {}
    for split, labelled in parts.items():
        columns = _GLUE[folder]
        if split.startswith("test"):
            unlabelled = [c for c in columns if c not in _LABELS]
            columns = _TEST.get(folder, unlabelled)
        # Only CoLA's labelled files have no header.
        rows = [] if columns == _GLUE["CoLA"] else [columns]
        for number, e in enumerate(labelled):
            rows.append([_cell(column, number, e) for column in columns])
        found[f"glue/{folder}/{split}.tsv"] = _table(rows)
    return found


def diagnostic(parts):
    """Return GLUE's AX, which has only a test split."""
    (text,) = glue("RTE", parts).values()
    return {"glue/diagnostic/diagnostic.tsv": text}


def snli(parts):
    """Return SNLI 1.0: one JSON object per line."""
    found = {}
    for split, labelled in parts.items():
        rows = [
            {
                "annotator_labels": [e.label],
                "captionID": f"{number}.sample",
                "gold_label": e.label,
                "pairID": f"{number}.sample#0",
                "sentence1": e.text,
                "sentence2": e.text_pair,
            }
            for number, e in enumerate(labelled)
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        found[f"snli/snli_1.0_{split}.jsonl"] = text
    return found


def scitail(parts):
    """Return SciTail 1.0, without headers."""
    return {
        f"scitail/tsv_format/scitail_1.0_{split}.tsv": _table(
            (e.text, e.text_pair, e.label) for e in labelled
        )
        for split, labelled in parts.items()
    }


def race(parts):
    """Return RACE: a JSON file for each passage."""
    found = {}
    for split, labelled in parts.items():
        passages = collections.defaultdict(list)
        for e in labelled:
            passages[e.group, e.text].append(e)
        for number, ((group, article), asked) in enumerate(passages.items()):
            passage = {
                "answers": ["ABCD"[e.label] for e in asked],
                "options": [list(e.choices) for e in asked],
                "questions": [e.text_pair for e in asked],
                "article": article,
                "id": f"{group}{number}.txt",
            }
            text = json.dumps(passage)
            found[f"race/RACE/{split}/{group}/{number}.txt"] = f"{text}\n"
    return found


def story_cloze(parts):
    """Return the Story Cloze Test; `parts` has val and test.

    The lines of an example's text are its sentences.
    """
    found = {}
    for split, labelled in parts.items():
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_CLOZE_COLUMNS)
        for number, e in enumerate(labelled):
            told = e.text.split("\n")
            writer.writerow(
                (f"{split}-{number}", *told, *e.choices, e.label + 1)
            )
        found[_CLOZE_NAME.format(split, split)] = file.getvalue()
    return found


def dpr(parts):
    """Return DPR: blocks of four lines, separated by empty lines."""
    return {
        f"dpr/{split}.c.txt": "".join(map(_block, parts[split]))
        for split in ("train", "test")
    }


def wsc(parts):
    """Return Winograd schemas, as XML and in blocks of four lines."""
    root = ElementTree.Element("collection")
    for e in parts["test"]:
        before, after = _around(e)
        schema = ElementTree.SubElement(root, "schema")
        text = ElementTree.SubElement(schema, "text")
        ElementTree.SubElement(text, "txt1").text = before
        ElementTree.SubElement(text, "pron").text = e.text_pair
        ElementTree.SubElement(text, "txt2").text = after
        answers = ElementTree.SubElement(schema, "answers")
        for choice in e.choices:
            ElementTree.SubElement(answers, "answer").text = choice
        right = ElementTree.SubElement(schema, "correctAnswer")
        right.text = "AB"[e.label]
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return {
        "winograd/WSCollection.xml": f"{text}\n",
        "winograd/WSC273.txt": "".join(map(_block, parts["test"])),
    }


def pdp(parts):
    """Return PDP: the format of DPR, with the pronoun hidden."""
    blocks = []
    for e in parts["test"]:
        before, after = _around(e)
        blocks.append(
            f"{before} {_HIDDEN} {after}\n{_HIDDEN}\n"
            f" {' , '.join(e.choices)} \n {e.choices[e.label]} \n\n"
        )
    return {"winograd/PDP.txt": "".join(blocks)}


def lambada(parts):
    """Return LAMBADA: one lower-case passage per line, without its last stop.

    Words and punctuation are separated as in the Penn Treebank.
    """
    return {
        f"lambada/lambada_{name}_plain_text.txt": "".join(
            f"{_words(f'{e.text} {e.choices[e.label]}')}\n"
            for e in parts[split]
        )
        for split, name in (("dev", "development"), ("test", "test"))
    }


def _block(e):
    return (
        f"{e.text}\n{e.text_pair}\n{','.join(e.choices)}\n"
        f"{e.choices[e.label]}\n\n"
    )


def _around(e):
    """Return the text up to the pronoun and what follows it."""
    cause, because, after = e.text.rpartition(f"because {e.text_pair} ")
    return f"{cause}{because.split()[0]}", after


def _words(text):
    text = re.sub(r'(?<!\S)"', "`` ", text.lower()).replace('"', " '' ")
    text = re.sub(r"(?<=\w)('(?:s|d|ll|re|ve)?(?!\w))", r" \1", text)
    return " ".join(re.sub(r"([.,;:!?()])", r" \1 ", text).split())


def _cell(column, number, e):
    """Return the value of a column of GLUE; "n/a" if it is unused."""
    if column in ("index", "id"):
        return number
    if column in ("#1 ID", "qid1", "#2 ID", "qid2"):
        return 2 * number + (1 if "1" in column else 2)
    if column == "mark":
        return "" if e.label == "1" else "*"
    if column in _LABELS:
        return e.label
    if column in ("sentence2", "question2", "#2 String", "sentence"):
        return e.text_pair or e.text
    if column in ("sentence1", "question1", "#1 String", "question"):
        return e.text
    return "n/a"


def _table(rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)
