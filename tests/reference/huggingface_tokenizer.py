"""Where transformers cuts a text otherwise than the released code.

    python -m tests.reference.huggingface_tokenizer VOCABULARY MERGES CASES

CASES holds texts and the released pipeline's ids, in JSON. Every place where
the ids of `transformers.OpenAIGPTTokenizer` differ is put under one kind; the
table counts places and texts and shows the shortest example of each.
"""

import difflib
import json
import pathlib
import shutil
import sys
import tempfile
import unicodedata

WORD_END = "</w>"
TYPOGRAPHIC = "‘’“”–—´`′"

# The first rule that holds names the kind. `released` and `theirs` are the
# pieces at the place, `cut` what is left of the released ones as plain text.
KINDS = {
    "a line break, which transformers drops": lambda cut, theirs, text: (
        "\n" in cut
    ),
    "a typographic quote or dash, unknown to transformers": (
        lambda cut, theirs, text: (
            "<unk>" in theirs and any(c in text for c in TYPOGRAPHIC)
        )
    ),
    "a contraction or possessive, one piece in the released code": (
        lambda cut, theirs, text: (
            cut.endswith("n't")
            or (cut.startswith("'") and cut.replace("'", "").isalpha())
        )
    ),
    "a run of stops or dashes or quotes, one piece there": (
        lambda cut, theirs, text: (
            len(cut) > 1 and not any(c.isalnum() for c in cut)
        )
    ),
    "a stop inside a number": lambda cut, theirs, text: (
        "." in cut and any(c.isdigit() for c in cut)
    ),
    "the stop of an abbreviation": lambda cut, theirs, text: "." in cut,
    "an accent, which transformers takes away": lambda cut, theirs, text: any(
        unicodedata.normalize("NFD", c) != c for c in cut
    ),
    "anything else": lambda cut, theirs, text: True,
}


def kind(released, theirs, text):
    """Name the kind of one place.

    Args:
        released: the pieces of the released code there.
        theirs: those of transformers.
        text: the whole text.
    """
    cut = "".join(released).replace(WORD_END, "")
    return next(k for k, holds in KINDS.items() if holds(cut, theirs, text))


def differences(released, theirs):
    """Yield (pieces, their pieces) of every place that differs."""
    matcher = difflib.SequenceMatcher(None, released, theirs, autojunk=False)
    for operation, i, j, k, m in matcher.get_opcodes():
        if operation != "equal":
            yield released[i:j], theirs[k:m]


def compare(vocabulary, merges, cases):
    """Return (number of equal texts, equal pieces, pieces, rows by kind).

    Args:
        vocabulary, merges: the released files.
        cases: [{"text": str, "ids": [int]}].
    """
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(vocabulary, pathlib.Path(folder) / "vocab.json")
        shutil.copy(merges, pathlib.Path(folder) / "merges.txt")
        tokenizer = transformers.OpenAIGPTTokenizer.from_pretrained(folder)
    names = {i: name for name, i in tokenizer.get_vocab().items()}
    places = {name: [] for name in KINDS}
    equal = pieces = lost = 0
    for number, case in enumerate(cases):
        released = [names[i] for i in case["ids"]]
        theirs = [names[i] for i in tokenizer(case["text"])["input_ids"]]
        equal += released == theirs
        pieces += len(released)
        for ours, other in differences(released, theirs):
            lost += len(ours)
            name = kind(ours, other, case["text"])
            places[name].append((number, ours, other))
    return equal, pieces - lost, pieces, places


def main(vocabulary, merges, cases):
    """Print the table."""
    cases = json.loads(pathlib.Path(cases).read_text("utf-8"))
    equal, same, pieces, places = compare(vocabulary, merges, cases)
    print(
        f"{equal} of {len(cases)} texts and {same:,} of {pieces:,} pieces equal"
    )
    print("| where they differ | places | texts | released | transformers |")
    print("|---|---|---|---|---|")
    for name, found in places.items():
        if found:
            _, ours, other = min(found, key=lambda f: (len(f[1]), f[0]))
            texts = len({number for number, _, _ in found})
            print(
                f"| {name} | {len(found)} | {texts} |"
                f" {' '.join(ours)!r} | {' '.join(other)!r} |"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
