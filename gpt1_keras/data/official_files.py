"""Brings the files of a source (`data.sources`) to where readers look."""

import json
import pathlib
import shutil

from absl import logging

from gpt1_keras import files
from gpt1_keras.data import archives
from gpt1_keras.data import download
from gpt1_keras.data import mrpc
from gpt1_keras.errors import InputError

_RECORD = "downloads.json"
_ARRIVING = ".downloads"


class OfficialFiles:
    """The files below one DATA_DIR.

    `downloads.json` there keeps the sha256 of every file that came, so that
    one whose sum nobody published is at least the same the next time.

    Args:
        data_dir: pathlib.Path of an existing folder.
        mirror: str or None. Address of a folder that has all files under
            their own names.
        folder: pathlib.Path or None, likewise on this machine.
    """

    def __init__(self, data_dir, *, mirror=None, folder=None):
        self._data_dir = pathlib.Path(data_dir)
        self._mirror = mirror
        self._folder = folder

    def has(self, source):
        """Whether everything of a source is there."""
        folder = self._data_dir / source.folder
        return all((folder / name).exists() for name in source.results)

    def bring(self, source):
        """Fetch, check, unpack and place the files of a source.

        Raises:
            InputError: a file cannot be had or is not what it should be.
        """
        arriving = self._data_dir / _ARRIVING
        target = self._data_dir / source.folder
        try:
            arriving.mkdir(exist_ok=True)
            target.mkdir(parents=True, exist_ok=True)
            came = [self._fetch(file, arriving) for file in source.files]
            self._place(source, came, target)
            for path in came:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{error.filename or target} cannot be written "
                f"({error.strerror or error}): make room or give another --data"
            ) from None
        if not any(arriving.iterdir()):
            arriving.rmdir()
        if not self.has(source):
            missing = [n for n in source.results if not (target / n).exists()]
            raise InputError(
                f"{source.files[0].name} has no {', '.join(missing)}: it is "
                "another version; give a --mirror"
            )

    def _place(self, source, came, target):
        if source.members is not None:
            for path in came:
                archives.unpack(path, target, source.members)
        elif source.is_mrpc:
            mrpc.write_tables(*came, target)
        else:
            for path in came:
                name = source.rename.get(path.name, path.name)
                path.replace(target / name)

    def _fetch(self, remote, arriving):
        """Return the path of a file that has arrived and is checked."""
        path = arriving / remote.name
        expected = remote.sha256 or self._recorded(remote)
        if path.exists() and files.sha256(path) == expected:
            return path
        if self._folder is not None:
            found = self._copy(remote, path, expected)
        else:
            url = remote.url
            if self._mirror is not None:
                url = f"{self._mirror.rstrip('/')}/{remote.name}"
            found = download.fetch(url, path, sha256=expected, size=remote.size)
        if remote.sha256 is None and expected is None:
            logging.warning(
                "%s: nobody has published its sha256, %s is remembered in %s",
                remote.name,
                found,
                self._data_dir / _RECORD,
            )
        self._remember(remote, found)
        return path

    def _copy(self, remote, path, expected):
        source = self._folder / remote.name
        if not source.is_file():
            raise InputError(
                f"{source} is missing: fetch {remote.url} and put it there"
            )
        found = files.sha256(source)
        if expected not in (None, found):
            raise InputError(
                f"{source}: its sha256 is {found}, expected {expected}: fetch "
                f"{remote.url} again"
            )
        shutil.copyfile(source, path)
        return found

    def _read_record(self):
        path = self._data_dir / _RECORD
        if not path.exists():
            return {}
        try:
            record = json.loads(path.read_text("utf-8"))
            return {str(name): str(sum_) for name, sum_ in record.items()}
        except (ValueError, AttributeError):
            raise InputError(
                f"{path} is damaged: remove it, and sums are remembered anew"
            ) from None

    def _recorded(self, remote):
        return self._read_record().get(remote.url)

    def _remember(self, remote, sha256):
        record = self._read_record() | {remote.url: sha256}
        text = json.dumps(record, indent=1, sort_keys=True) + "\n"
        files.write_atomic(self._data_dir / _RECORD, text)
