"""Labelled examples as the texts of the official files of a benchmark.

Every function returns {path below DATA_DIR: text of the file}. `parts` is
{split: list of Example}; the splits are train, dev and test.
"""

import collections
import csv
import io
import json

# Columns between the index and the sentences of MultiNLI's files.
_MNLI_COLUMNS = (
    "promptID pairID genre sentence1_binary_parse sentence2_binary_parse "
    "sentence1_parse sentence2_parse"
).split()
_STSB_COLUMNS = "genre filename year old_index source1 source2".split()
_RATERS = 5
_CLOZE_NAME = "story_cloze/cloze_test_{}__spring2016 - cloze_test_ALL_{}.csv"
_CLOZE_COLUMNS = (
    "InputStoryid",
    *(f"InputSentence{number}" for number in range(1, 5)),
    "RandomFifthSentenceQuiz1",
    "RandomFifthSentenceQuiz2",
    "AnswerRightEnding",
)


def cola(parts):
    """GLUE's CoLA: no header in train and dev."""
    found = _glue("CoLA", ("sentence",), "label", {"test": parts["test"]})
    for split in ("train", "dev"):
        rows = [
            ("sw00", e.label, "" if e.label == "1" else "*", e.text)
            for e in parts[split]
        ]
        found[f"glue/CoLA/{split}.tsv"] = _table(rows)
    return found


def sst2(parts):
    """GLUE's SST-2: an index in test only."""
    found = _glue("SST-2", ("sentence",), "label", {"test": parts["test"]})
    for split in ("train", "dev"):
        rows = [("sentence", "label")]
        rows += [(e.text, e.label) for e in parts[split]]
        found[f"glue/SST-2/{split}.tsv"] = _table(rows)
    return found


def mrpc(parts):
    """GLUE's MRPC: the label first, an index in its place in test."""
    found = {}
    for split, labelled in parts.items():
        first = "index" if split == "test" else "Quality"
        rows = [(first, "#1 ID", "#2 ID", "#1 String", "#2 String")]
        for number, e in enumerate(labelled):
            value = number if split == "test" else e.label
            ids = 2 * number + 1, 2 * number + 2
            rows.append((value, *ids, e.text, e.text_pair))
        found[f"glue/MRPC/{split}.tsv"] = _table(rows)
    return found


def qqp(parts):
    """GLUE's QQP: ids of questions in train and dev."""
    columns = ("question1", "question2")
    found = _glue("QQP", columns, "", {"test": parts["test"]}, index="id")
    for split in ("train", "dev"):
        rows = [("id", "qid1", "qid2", *columns, "is_duplicate")]
        for number, e in enumerate(parts[split]):
            ids = number, 2 * number + 1, 2 * number + 2
            rows.append((*ids, e.text, e.text_pair, e.label))
        found[f"glue/QQP/{split}.tsv"] = _table(rows)
    return found


def stsb(parts):
    """GLUE's STS-B: scores with three decimals."""
    found = {}
    for split, labelled in parts.items():
        columns = ("index", *_STSB_COLUMNS, "sentence1", "sentence2")
        rows = [columns if split == "test" else (*columns, "score")]
        for number, e in enumerate(labelled):
            source = ("main-stories", "world", "sample", f"{number:04d}")
            row = (number, *source, "none", "none", e.text, e.text_pair)
            score = () if split == "test" else (f"{e.label:.3f}",)
            rows.append((*row, *score))
        found[f"glue/STS-B/{split}.tsv"] = _table(rows)
    return found


def mnli(parts):
    """GLUE's MultiNLI: `parts` has train, dev_matched, dev_mismatched,
    test_matched and test_mismatched."""
    found = {}
    for split, labelled in parts.items():
        labels = []
        if split == "train":
            labels = ["label1", "gold_label"]
        elif split.startswith("dev"):
            labels = [f"label{n + 1}" for n in range(_RATERS)]
            labels.append("gold_label")
        rows = [("index", *_MNLI_COLUMNS, "sentence1", "sentence2", *labels)]
        for number, e in enumerate(labelled):
            blank = ["n/a"] * len(_MNLI_COLUMNS)
            values = [e.label] * len(labels)
            rows.append((number, *blank, e.text, e.text_pair, *values))
        found[f"glue/MNLI/{split}.tsv"] = _table(rows)
    return found


def qnli(parts):
    """GLUE's QNLI."""
    return _glue("QNLI", ("question", "sentence"), "label", parts)


def rte(parts):
    """GLUE's RTE."""
    return _glue("RTE", ("sentence1", "sentence2"), "label", parts)


def wnli(parts):
    """GLUE's WNLI."""
    return _glue("WNLI", ("sentence1", "sentence2"), "label", parts)


def diagnostic(parts):
    """GLUE's AX, which has a test part only."""
    tables = _glue("", ("sentence1", "sentence2"), "", parts)
    return {"glue/diagnostic/diagnostic.tsv": tables["glue//test.tsv"]}


def snli(parts):
    """SNLI 1.0: one JSON object a line."""
    found = {}
    for split, labelled in parts.items():
        lines = []
        for number, e in enumerate(labelled):
            row = {
                "annotator_labels": [e.label],
                "captionID": f"{number}.sample",
                "gold_label": e.label,
                "pairID": f"{number}.sample#0",
                "sentence1": e.text,
                "sentence2": e.text_pair,
            }
            lines.append(f"{json.dumps(row)}\n")
        found[f"snli/snli_1.0_{split}.jsonl"] = "".join(lines)
    return found


def scitail(parts):
    """SciTail 1.0: no header."""
    return {
        f"scitail/tsv_format/scitail_1.0_{split}.tsv": _table(
            [(e.text, e.text_pair, e.label) for e in labelled]
        )
        for split, labelled in parts.items()
    }


def race(parts):
    """RACE: a JSON file for each passage."""
    found = {}
    for split, labelled in parts.items():
        passages = collections.defaultdict(list)
        for e in labelled:
            passages[e.group, e.text].append(e)
        for number, ((group, article), asked) in enumerate(passages.items()):
            name = f"{group}{number}.txt"
            passage = {
                "answers": ["ABCD"[e.label] for e in asked],
                "options": [list(e.choices) for e in asked],
                "questions": [e.text_pair for e in asked],
                "article": article,
                "id": name,
            }
            text = json.dumps(passage)
            found[f"race/RACE/{split}/{group}/{number}.txt"] = f"{text}\n"
    return found


def story_cloze(parts):
    """The Story Cloze Test: `parts` has val and test; the lines of an
    example's text are its sentences."""
    found = {}
    for split, labelled in parts.items():
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_CLOZE_COLUMNS)
        for number, e in enumerate(labelled):
            sentences = e.text.split("\n")
            row = (f"{split}-{number}", *sentences, *e.choices, e.label + 1)
            writer.writerow(row)
        found[_CLOZE_NAME.format(split, split)] = file.getvalue()
    return found


def _glue(name, columns, label, parts, index="index"):
    """Return tables with an index, the texts and, but in test, the label."""
    found = {}
    for split, labelled in parts.items():
        last = () if split == "test" else (label,)
        rows = [(index, *columns, *last)]
        for number, e in enumerate(labelled):
            texts = (e.text, e.text_pair)[: len(columns)]
            value = () if split == "test" else (e.label,)
            rows.append((number, *texts, *value))
        found[f"glue/{name}/{split}.tsv"] = _table(rows)
    return found


def _table(rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)
