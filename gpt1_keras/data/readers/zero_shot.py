"""Benchmarks for zero-shot tasks only: Winograd schemas and LAMBADA.

In a Winograd schema, a pronoun refers to one of several candidates:

- Definite Pronoun Resolution (Rahman and Ng 2012), `dpr/{train,test}.c.txt`,
  and the Pronoun Disambiguation Problems, `winograd/PDP.txt`: blocks of four
  lines, with blank ones between: sentence, pronoun, candidates separated by
  commas, the right candidate.
- WSC273 (Levesque et al. 2012): the first 273 schemas of
  `winograd/WSCollection.xml`, which has grown to 285, from
  https://cs.nyu.edu/~davise/papers/WinogradSchemas/WS.html, or blocks in
  `winograd/WSC273.txt`.

In these Examples, text is the sentence with `BLANK` in place of the pronoun,
text_pair the pronoun ("" if the file itself hides it, as PDP.txt does),
choices the candidates and label the index of the right one.

LAMBADA (Paperno et al. 2016) asks for the last word of a passage. The files of
https://zenodo.org/records/2630551 have a passage on each line, lower-cased and
tokenised as in the Penn Treebank; those of OpenAI, `lambada_<split>.jsonl`,
have the passages as in the books.
"""

import itertools
import re
from xml.etree import ElementTree

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

BLANK = "[MASK]"
NUM_WSC = 273
# Words that begin the clause of the pronoun in question.
_CONJUNCTIONS = frozenset(
    "after although and as because before but if since so that though unless"
    " until when whereas while who".split()
)
_LAMBADA = {"dev": "development", "test": "test"}
_WINOGRAD = ("winograd", "")  # folders
_LINES = ("sentence", "pronoun", "candidates", "right candidate")


def read_dprd(data_dir, split):
    """Read `train` or `test` of Definite Pronoun Resolution.

    If a sentence has the pronoun several times, the files do not say which one
    is meant. Of those after the first mention of every candidate, we take the
    first that directly follows a conjunction, or else the first one.
    """
    return _read_blocks(rows.find_file(data_dir, ["dpr", ""], f"{split}.c.txt"))


def read_pdp(data_dir, split):
    """Read `test`, the only split of the Pronoun Disambiguation Problems."""
    return _read_blocks(rows.find_file(data_dir, _WINOGRAD, "PDP.txt"))


def read_wsc(data_dir, split):
    """Read `test`, the only split of WSC273."""
    # The first one is preferred, since it marks the pronoun.
    files = ("WSCollection.xml", "WSC273.txt", "wsc273.txt")
    path = rows.find_file(data_dir, _WINOGRAD, *files)
    return _read_xml(path) if path.suffix == ".xml" else _read_blocks(path)


def _read_blocks(path):
    return rows.collect(path, _blocks(path), _parse_block)


def _parse_block(block):
    if len(block) != len(_LINES):
        raise rows.BadRow(f"a block of {len(block)} lines, not 4")
    sentence, pronoun, candidates, right = map(_one_line, block, _LINES)
    choices = [text.strip() for text in candidates.split(",")]
    pattern = rf"(?<!\w){re.escape(pronoun)}(?!\w)"
    matches = list(re.finditer(pattern, sentence, re.IGNORECASE))
    if not matches:
        raise rows.BadRow(f"{pronoun!r} is not in the sentence")
    start, end = _definite(sentence, matches, choices).span()
    text = f"{sentence[:start]}{BLANK}{sentence[end:]}"
    hidden = "" if pronoun == BLANK else sentence[start:end]
    return _example(text, hidden, choices, right)


def _blocks(path):
    """Yield (first line number, lines) between blank lines."""
    numbered = enumerate(rows.text_lines(path))
    # Blank lines yield no row, so the difference between a line's number and
    # its position grows after each.
    for _, block in itertools.groupby(numbered, lambda n: n[1][0] - n[0]):
        lines, found = zip(*(row for _, row in block))
        bad = [row for row in found if isinstance(row, rows.BadRow)]
        yield lines[0], bad[0] if bad else found


def _definite(sentence, matches, choices):
    """Return the match of the pronoun in question: see `read_dprd`."""
    starts = [sentence.lower().find(choice.lower()) for choice in choices]
    later = [m for m in matches if m.start() > max(starts)] or matches
    for match in later:
        words = re.findall(r"\w+", sentence[: match.start()])
        if words and words[-1].lower() in _CONJUNCTIONS:
            return match
    return later[0]


def _read_xml(path):
    try:
        schemas = ElementTree.parse(path).getroot().findall("schema")
    # LookupError: the encoding is unknown.
    except (OSError, ElementTree.ParseError, ValueError, LookupError) as error:
        raise errors.InputError(
            f"{path} cannot be read as XML ({error}): use the official file"
        ) from None
    numbered = enumerate(schemas[:NUM_WSC], 1)
    found = ((f"{path} schema {i}", schema) for i, schema in numbered)
    return rows.collect(path, found, _parse_schema)


def _parse_schema(schema):
    before = schema.findtext("text/txt1", "")
    after = schema.findtext("text/txt2", "")
    pronoun = _one_line(schema.findtext("text/pron"), "pronoun")
    answers = schema.iterfind("answers/answer")
    choices = [_one_line(answer.text, "answer") for answer in answers]
    # Written "A" or " B. ".
    letter = _one_line(schema.findtext("correctAnswer"), "correctAnswer")
    right = dict(zip("ABCDEFGH", choices)).get(letter.rstrip(". ").upper())
    if right is None:
        raise rows.BadRow(f"correctAnswer {letter!r} names no answer")
    text = " ".join(f"{before} {BLANK} {after}".split())
    # No space before <txt2>.</txt2> and contractions.
    text = re.sub(r"\[MASK\] (?=[.,;:!?'])", BLANK, text)
    return _example(text, pronoun, choices, right)


def _one_line(text, name):
    return " ".join(rows.text_of(text, name).split())


def _example(text, pronoun, choices, right):
    same = [choice.lower() == right.lower() for choice in choices]
    if len(choices) < 2 or "" in choices or same.count(True) != 1:
        raise rows.BadRow(
            f"{right!r} is not one of the candidates {', '.join(choices)}"
        )
    return examples.Example(text, pronoun, tuple(choices), same.index(True))


def read_lambada(data_dir, split):
    """Read a split from `DATA_DIR/lambada`.

    `train`, a corpus of novels, is not read. Returns a list of Example: text is
    the passage without its last word, which is the only choice; label 0.
    """
    text_file = f"lambada_{_LAMBADA[split]}_plain_text.txt"
    files = (text_file, f"lambada_{split}.jsonl")
    path = rows.find_file(data_dir, ["lambada", ""], *files)
    read = rows.json_lines if path.suffix == ".jsonl" else rows.text_lines
    return rows.collect(path, read(path), _parse_passage)


def _parse_passage(row):
    text = row.get("text") if isinstance(row, dict) else row
    *words, last = rows.text_of(text, "text").split()
    if not words:
        raise rows.BadRow("a passage of one word")
    if words[0].startswith('{"'):
        raise rows.BadRow("JSON in a file whose name ends in .txt")
    if not re.search(r"\w", last):
        raise rows.BadRow(f"the last word is {last!r}")
    return examples.Example(" ".join(words), choices=(last,), label=0)
