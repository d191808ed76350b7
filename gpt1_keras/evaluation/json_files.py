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


def check_objects(path, found, names):
    """Refuse an object in which something else stands for an object.

    Args:
        path: pathlib.Path of the file, for the message.
        found: dict, what `read` returned.
        names: iterable of str, keys whose values are objects where they are.

    Raises:
        InputError: one is not; names it.
    """
    for name in names:
        if not isinstance(found.get(name, {}), dict):
            raise _damaged(path, f"{name!r} is not an object")


def _parse(text, path, first_line):
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        line, why = first_line + error.lineno - 1, error.msg
    else:
        if isinstance(found, dict):
            return found
        line, why = first_line, "not an object"
    raise _damaged(f"{path}:{line}", why)


def _damaged(place, why):
    return errors.InputError(
        f"{place}: is damaged ({why}): run it again, or take its folder out of"
        " RESULTS"
    )
