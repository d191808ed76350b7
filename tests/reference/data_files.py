import functools
import json
import operator


def write(folder, name, content):
    """Write bytes, text, a dict as JSON or rows as lines; return the path."""
    if isinstance(content, dict):
        content = json.dumps(content)
    if isinstance(content, list):
        content = "".join(json.dumps(row) + "\n" for row in content)
    if isinstance(content, str):
        content = content.encode("utf-8")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def flip_bit(path, place):
    """Damage the byte at a place of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def rewrite(name, change):
    """Return what replaces a file of a folder by what is made of its bytes."""
    return lambda folder: (folder / name).write_bytes(
        change((folder / name).read_bytes())
    )


def put(name, content):
    """Return what replaces a file of a folder by another content."""
    return rewrite(name, lambda old: content)


def rewrite_json(name, change):
    return rewrite(name, lambda x: json.dumps(change(json.loads(x))).encode())


def set_json(name, *path, to):
    """Return what changes a value of a JSON file; `path` are its keys."""

    def change(found):
        *parents, last = path
        functools.reduce(operator.getitem, parents, found)[last] = to
        return found

    return rewrite_json(name, change)


def contents(folder):
    """Return {relative name: bytes} of every file but locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }
