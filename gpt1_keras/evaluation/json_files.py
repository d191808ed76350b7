"""JSON that runs wrote; what is damaged is named with its line."""

import json

from gpt1_keras import errors


def read(path):
    """Return the object in a JSON file.

    Args:
        path: pathlib.Path.

    Raises:
        InputError: it is not a JSON object.
    """
    return _parse(path.read_text(encoding="utf-8", errors="replace"), path, 1)


def read_lines(path):
    """Return the objects of a `metrics.jsonl`; a torn last line is left out.

    Args:
        path: pathlib.Path, which need not exist.

    Raises:
        InputError: a line is not a JSON object; names it.
    """
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return [_parse(line, path, number) for number, line in enumerate(lines, 1)]


def _parse(text, path, first_line):
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        line, why = first_line + error.lineno - 1, error.msg
    else:
        if isinstance(found, dict):
            return found
        line, why = first_line, "not an object"
    raise errors.InputError(
        f"{path}:{line}: is damaged ({why}): run it again, or take its folder"
        " out of RESULTS"
    )
