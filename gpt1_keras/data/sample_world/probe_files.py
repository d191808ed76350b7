"""Examples of the zero-shot probes as the texts of their official files.

As `benchmark_files`: every function returns {path below DATA_DIR: text}.
"""

import re
from xml.etree import ElementTree

_HIDDEN = "[MASK]"


def dpr(parts):
    """Definite Pronoun Resolution: blocks of four lines, and an empty one."""
    return {
        f"dpr/{split}.c.txt": "".join(map(_block, parts[split]))
        for split in ("train", "test")
    }


def wsc(parts):
    """The Winograd Schema Challenge: as XML, and in blocks of four lines."""
    root = ElementTree.Element("collection")
    for e in parts["test"]:
        before, after = _around(e)
        schema = ElementTree.SubElement(root, "schema")
        text = ElementTree.SubElement(schema, "text")
        for tag, part in (
            ("txt1", before),
            ("pron", e.text_pair),
            ("txt2", after),
        ):
            ElementTree.SubElement(text, tag).text = part.strip()
        answers = ElementTree.SubElement(schema, "answers")
        for choice in e.choices:
            ElementTree.SubElement(answers, "answer").text = choice
        right = ElementTree.SubElement(schema, "correctAnswer")
        right.text = "AB"[e.label]
    ElementTree.indent(root)
    return {
        "winograd/WSCollection.xml": (
            f"{ElementTree.tostring(root, encoding='unicode')}\n"
        ),
        "winograd/WSC273.txt": "".join(map(_block, parts["test"])),
    }


def pdp(parts):
    """Pronoun Disambiguation Problems: as DPR, but the pronoun is hidden."""
    blocks = []
    for e in parts["test"]:
        before, after = _around(e)
        blocks.append(
            f"{before}{_HIDDEN} {after}\n{_HIDDEN}\n"
            f" {' , '.join(e.choices)} \n {e.choices[e.label]} \n\n"
        )
    return {"winograd/PDP.txt": "".join(blocks)}


def lambada(parts):
    """LAMBADA: a passage a line, in lower case, without its last full stop,
    words and punctuation apart as in the Penn Treebank."""
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
    before, because, after = e.text.rpartition(f"because {e.text_pair} ")
    return f"{before}{because.removesuffix(f'{e.text_pair} ')}", after


def _words(text):
    text = re.sub(r'(?<!\S)"', "`` ", text.lower()).replace('"', " '' ")
    text = re.sub(r"n't\b", " n't", text)
    text = re.sub(r"(?<=\w)('(?:s|d|ll|re|ve)?(?!\w))", r" \1", text)
    return " ".join(re.sub(r"([.,;:!?()])", r" \1 ", text).split())
