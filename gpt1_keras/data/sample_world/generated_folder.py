"""Folders of generated files: whole or absent, never written twice."""

import hashlib
import json
import os
import pathlib
import shutil
import tempfile

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


def write_once(directory, write, *, settings, manifest, kind, listed):
    """Let `write` fill a folder, unless it holds the very same already.

    The folder appears whole or not at all, with a manifest that holds the
    settings, the generator's hash and the names of the files.

    Args:
        directory: pathlib.Path of a folder that does not exist yet, is empty,
            or holds the result of an earlier call with these settings.
        write: function from a folder to the names of the files that it wrote
            there, relative to it.
        settings: dict that JSON can hold; what the files depend on.
        manifest: name of the manifest.
        kind: what the files are, for messages ("sample corpus").
        listed: key of the manifest under which the names stand.

    Returns:
        List of the names.

    Raises:
        errors.InputError: the folder holds something else.
    """
    directory = pathlib.Path(directory)
    expected = {**settings, "generator": source_sha256()}
    target = _Target(directory, directory / manifest, expected, kind, listed)
    names = target.find()
    if names is not None:
        return names
    directory.parent.mkdir(parents=True, exist_ok=True)
    temporary = tempfile.mkdtemp(
        dir=directory.parent, prefix=f".{directory.name}."
    )
    os.chmod(temporary, 0o755)
    try:
        names = write(pathlib.Path(temporary))
        text = json.dumps({**expected, listed: names}, indent=2)
        files.write_atomic(pathlib.Path(temporary, manifest), f"{text}\n")
        target.put_in_place(temporary)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return names


class _Target:
    def __init__(self, directory, manifest, expected, kind, listed):
        self.directory = directory
        self.manifest = manifest
        self.expected = expected
        self.kind = kind
        self.listed = listed

    def find(self):
        """Return the names if the folder holds what is wanted, None if it is
        free; raise where it holds something else."""
        directory, kind = self.directory, self.kind
        if directory.exists() and not directory.is_dir():
            raise errors.InputError(
                f"{directory} is a file: give an empty folder for the {kind}"
            )
        if not directory.exists() or not any(directory.iterdir()):
            return None
        try:
            found = json.loads(self.manifest.read_text(encoding="utf-8"))
            names = found.pop(self.listed)
        except (OSError, ValueError, KeyError, AttributeError):
            raise errors.InputError(
                f"{directory} holds files that are not a {kind}: give an "
                f"empty folder"
            ) from None
        whole = all((directory / name).exists() for name in names)
        if found != self.expected or not whole:
            found.pop("generator", None)
            what = ", ".join(f"{key} {value}" for key, value in found.items())
            raise errors.InputError(
                f"{directory} holds another {kind} ({what}, perhaps an older "
                f"generator): remove it or give another folder"
            )
        return names

    def put_in_place(self, temporary):
        try:
            os.replace(temporary, self.directory)
        except OSError:
            # Another process may have put the same there meanwhile.
            if not self.directory.exists() or self.find() is None:
                raise
            return
        files.sync(self.directory.parent)
