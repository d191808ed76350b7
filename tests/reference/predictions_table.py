"""Reads the tables of predictions that evaluations write."""

import json
import pathlib
import re

_CHARACTERS = {r"\\": "\\", r"\t": "\t", r"\n": "\n", r"\r": "\r"}
_OF = "probability_of_"


def read(path):
    """Return a dict for each row, in the order of the file.

    By column: `row` or `line` int, `label` str or None, `choices` tuple, other
    numbers float or None; and `probabilities`, a dict from name to float.
    Columns that were left out are empty.
    """
    content = pathlib.Path(path).read_bytes().decode("utf-8")
    table = [
        [_unescape(field) for field in line.split("\t")]
        for line in content.removesuffix("\n").split("\n")
    ]
    return [_parse(dict(zip(table[0], row, strict=True))) for row in table[1:]]


def _parse(found):
    for name in ("text", "text_pair"):
        found.setdefault(name, "")
    for name in ("error", "prediction_probability", "label_probability"):
        found[name] = float(found[name]) if found.get(name) else None
    place = "line" if "line" in found else "row"
    names = [name for name in found if name.startswith(_OF)]
    return found | {
        place: int(found[place]),
        "label": found.get("label") or None,
        "choices": tuple(json.loads(found.get("choices") or "[]")),
        "probabilities": {
            name.removeprefix(_OF): float(found.pop(name)) for name in names
        },
    }


def _unescape(field):
    return re.sub(
        r"\\(?:[\\tnr]|u([0-9a-f]{4}))",
        lambda found: _CHARACTERS.get(found[0]) or chr(int(found[1], 16)),
        field,
    )
