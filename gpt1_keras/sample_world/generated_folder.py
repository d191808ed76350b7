"""Folders of generated files, written once, whole or not at all."""

import hashlib
import json
import pathlib

from gpt1_keras import errors
from gpt1_keras import files

_SOURCE = pathlib.Path(__file__).parent


def source_sha256():
    """Return the hash of this package's files: the generator's identity."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCE.iterdir()):
        if path.suffix in (".py", ".txt"):
            digest.update(path.name.encode("utf-8"))
            digest.update(path.read_bytes())
    return digest.hexdigest()


def write_once(directory, write, *, settings, manifest):
    """Fill a folder with `write`, unless it already holds the result.

    The folder appears whole or not at all, with a manifest that holds the
    settings, the generator's hash and the names of the files. Returns their
    paths.

    Args:
        directory: path of a folder that does not exist yet, is empty, or
            holds the result of an earlier call with these settings; another
            one raises InputError.
        write: function from a folder to the names of the files that it wrote
            there, relative to it.
        settings: JSON dict of everything that the files depend on.
        manifest: name of the manifest.
    """
    directory = pathlib.Path(directory)
    expected = settings | {"generator": source_sha256()}

    def is_new():
        return not directory.is_file() and not any(directory.glob("*"))

    if is_new():
        parent = files.make_folder(directory.parent)
        with files.exclusive(parent, name=".lock", wait=True):
            # Another process may have written it meanwhile.
            if is_new():
                with files.new_folder(directory) as temporary:
                    content = expected | {"files": write(temporary)}
                    text = json.dumps(content, indent=2) + "\n"
                    files.write_atomic(temporary / manifest, text)
    return _find(directory, expected, manifest)


def _find(directory, expected, manifest):
    """Return the files of a folder that holds what is expected."""
    try:
        found = json.loads((directory / manifest).read_text(encoding="utf-8"))
        paths = [directory / name for name in found.pop("files")]
    except (OSError, ValueError, KeyError, AttributeError):
        found, paths = None, []
    if found != expected or not all(path.exists() for path in paths):
        raise errors.InputError(
            f"{directory} holds other files than this generator writes with "
            f"these settings ({manifest}): remove it or give an empty folder"
        )
    return paths
