"""Winograd schemas: which of two or more candidates does a pronoun mean?

- Definite Pronoun Resolution (Rahman and Ng 2012), `dpr/{train,test}.c.txt`,
  and the Pronoun Disambiguation Problems, `winograd/PDP.txt`: blocks of four
  lines with a blank one between them: sentence, pronoun, candidates separated
  by commas, the right candidate.
- WSC273 (Levesque et al. 2012): `winograd/WSCollection.xml` of
  https://cs.nyu.edu/~davise/papers/WinogradSchemas/WS.html, or blocks in
  `winograd/WSC273.txt`. The collection has grown to 285; WSC273 is its first
  273 schemas.

An Example has the sentence with `BLANK` in place of the pronoun as text, the
pronoun as text_pair ("" where the file itself has only the blank, as PDP.txt),
the candidates as choices and the index of the right one as label.
"""

import re
from xml.etree import ElementTree

from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows

BLANK = "[MASK]"
_SPLITS = {"dprd": ["train", "test"], "pdp": ["test"], "wsc": ["test"]}

# Words that begin the clause whose pronoun is asked for.
_CONNECTIVES = frozenset(
    "after although and as because before but if since so that though unless"
    " until when whereas while who".split()
)
_LINES = ("sentence", "pronoun", "candidates", "right candidate")


def read_dprd(data_dir, split):
    """Read `train` or `test` of Definite Pronoun Resolution.

    The files do not say which of several equal pronouns is meant: it is taken
    to be the first after the first mention of every candidate that directly
    follows a conjunction, or simply the first there.

    Args:
        data_dir: path of DATA_DIR.
        split: `train` or `test`.

    Returns:
        list of Example, labelled; see the module.

    Raises:
        InputError: the file is missing, or too many blocks are broken.
    """
    rows.check_split(split, _SPLITS["dprd"])
    file = f"{split}.c.txt"
    path = rows.find_file(data_dir, [f"dpr/{file}", file])
    return _check_count(data_dir, path, "dprd", split, _read_blocks(path))


def read_pdp(data_dir, split):
    """Read the only split of PDP, `test`; otherwise as `read_dprd`."""
    rows.check_split(split, _SPLITS["pdp"])
    path = rows.find_file(data_dir, ["winograd/PDP.txt", "PDP.txt"])
    return _check_count(data_dir, path, "pdp", split, _read_blocks(path))


def read_wsc(data_dir, split):
    """Read the only split of WSC273, `test`; otherwise as `read_dprd`.

    The `.xml` file is preferred: it also says what the pronoun was.
    """
    rows.check_split(split, _SPLITS["wsc"])
    files = ["WSCollection.xml", "WSC273.txt", "wsc273.txt"]
    path = rows.find_file(
        data_dir, [*(f"winograd/{file}" for file in files), *files]
    )
    if path.suffix == ".xml":
        found = _read_xml(path)
    else:
        found = _read_blocks(path)
    return _check_count(data_dir, path, "wsc", split, found)


def _read_blocks(path):
    num_repeated = 0

    def parse(block):
        nonlocal num_repeated
        if len(block) != len(_LINES):
            raise rows.BadRow(f"a block of {len(block)} lines, not 4")
        sentence, pronoun, candidates, right = [
            _one_line(text, name) for text, name in zip(block, _LINES)
        ]
        choices = [text.strip() for text in candidates.split(",")]
        found = _find_pronoun(sentence, pronoun)
        num_repeated += len(found) > 1
        start, end = _definite(sentence, found, choices).span()
        return _example(
            f"{sentence[:start]}{BLANK}{sentence[end:]}",
            "" if pronoun == BLANK else sentence[start:end],
            choices,
            right,
        )

    found = rows.collect(path, _blocks(path), parse)
    if num_repeated:
        logging.info(
            "%s: the pronoun stands more than once in %d of %d sentences",
            *(path, num_repeated, len(found)),
        )
    return found


def _blocks(path):
    """Yield (line, list of lines) of lines without a blank one between."""
    block, first, last = [], 0, -1
    for line, row in rows.tab_separated(path):
        if isinstance(row, rows.BadRow):
            yield line, row
            continue
        if line != last + 1 and block:
            yield first, block
            block = []
        if not block:
            first = line
        block.append("\t".join(row))
        last = line
    if block:
        yield first, block


def _find_pronoun(sentence, pronoun):
    """Return the matches of a pronoun as whole words in a sentence."""
    pattern = rf"(?<!\w){re.escape(pronoun)}(?!\w)"
    found = list(re.finditer(pattern, sentence, re.IGNORECASE))
    if not found:
        raise rows.BadRow(f"{pronoun!r} is not in the sentence")
    return found


def _definite(sentence, found, choices):
    """Return the one of the matches that is asked for: see `read_dprd`."""
    starts = [sentence.lower().find(choice.lower()) for choice in choices]
    later = [match for match in found if match.start() > max(starts)] or found
    for match in later:
        words = re.findall(r"\w+", sentence[: match.start()])
        if words and words[-1].lower() in _CONNECTIVES:
            return match
    return later[0]


def _read_xml(path):
    try:
        schemas = ElementTree.parse(path).getroot().findall("schema")
    except OSError as error:
        raise errors.InputError(
            f"{path} cannot be read ({error.strerror}): take the official file"
        ) from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        line = getattr(error, "position", (1,))[0]
        raise errors.InputError(
            f"{path} line {line} is no XML ({error}): take the official file"
        ) from None
    expected = rows.official_row_count("wsc", "test")
    if len(schemas) > expected:
        logging.info(
            "%s: WSC273 is the first %d of %d schemas",
            *(path, expected, len(schemas)),
        )
    bad, found = rows.BadRows(path), []
    for i, schema in enumerate(schemas[:expected], 1):
        try:
            found.append(_parse_schema(schema))
        except rows.BadRow as error:
            bad.add(f"{path} schema {i}", error)
    bad.check(len(schemas[:expected]))
    return found


def _parse_schema(schema):
    before = schema.findtext("text/txt1", "")
    after = schema.findtext("text/txt2", "")
    pronoun = _one_line(schema.findtext("text/pron"), "pronoun")
    choices = [
        _one_line(answer.text, "answer")
        for answer in schema.findall("answers/answer")
    ]
    # "A", " B. ".
    letter = _one_line(schema.findtext("correctAnswer"), "correctAnswer")
    answers = dict(zip("ABCDEFGH", choices))
    right = answers.get(letter.rstrip(". ").upper())
    if right is None:
        raise rows.BadRow(f"correctAnswer {letter!r} names no answer")
    text = " ".join(f"{before} {BLANK} {after}".split())
    # <txt2>.</txt2>, and contractions.
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


def _check_count(data_dir, path, name, split, found):
    rows.check_row_count(data_dir, path, name, split, len(found))
    return found
