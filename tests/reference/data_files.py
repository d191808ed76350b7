"""Files below a folder, written and read back."""

import json


def write(folder, name, content):
    """Write bytes, text, or rows as JSON lines, and return the path."""
    if isinstance(content, list):
        content = "".join(json.dumps(row) + "\n" for row in content)
    if isinstance(content, str):
        content = content.encode("utf-8")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def contents(folder):
    """Return {relative name: bytes} of every file but locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }
