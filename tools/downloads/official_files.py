"""The official files: where they come from, and where readers expect them."""

import csv
import dataclasses
import io
import json
import pathlib
import shutil

from absl import logging

from gpt1_keras import files
from gpt1_keras.errors import InputError
from tools.downloads import fetch

_TABLE = pathlib.Path(__file__).with_suffix(".json")
_RECORD = "downloads.json"
_ARRIVING = ".downloads"
_TSV = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}


@dataclasses.dataclass(frozen=True)
class Remote:
    """A file on the network.

    Attributes:
        url: str; its last part is the name of the file, also on a mirror.
        sha256: str; None if nobody has published it: then the first download
            determines it.
        size: int, bytes, or None.
    """

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def name(self):
        return self.url.rpartition("/")[2]


@dataclasses.dataclass(frozen=True)
class Source:
    """The files of one data set.

    Attributes:
        folder: str, below DATA_DIR.
        results: list of str, paths that exist below `folder` in the end: files
            or folders of an archive, or the new names of the files.
        files: list of Remote.
    """

    folder: str
    results: list
    files: list


def _read_table():
    table = json.loads(_TABLE.read_text("utf-8"))
    return {
        name: Source(
            entry["folder"],
            entry["results"],
            [Remote(**file) for file in entry["files"]],
        )
        for name, entry in table.items()
    }


SOURCES = _read_table()
# Names for several of them.
GROUPS = {
    "glue": ("cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte")
    + ("wnli", "ax")
}
# Data that may not be redistributed, and how to get them.
BY_HAND = {
    "story_cloze": "request the two .csv files of spring 2016 at "
    "https://cs.rochester.edu/nlp/rocstories and put them into "
    "DATA_DIR/story_cloze",
}


class OfficialFiles:
    """The files below one DATA_DIR.

    `downloads.json` there records the SHA-256 of every file. If nobody has
    published the checksum of a file, later downloads must match this record.

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
        """Return whether all results of a source are there."""
        folder = self._data_dir / source.folder
        return all((folder / name).exists() for name in source.results)

    def bring(self, source):
        """Fetch, check, unpack and place the files of a source.

        Raises:
            InputError: a file is not available or not the expected one.
        """
        arriving = self._data_dir / _ARRIVING
        target = self._data_dir / source.folder
        try:
            arriving.mkdir(exist_ok=True)
            target.mkdir(parents=True, exist_ok=True)
            arrived = [self._fetch(file, arriving) for file in source.files]
            _place(source, arrived, target)
            for path in arrived:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{error.filename or target} cannot be written "
                f"({error.strerror or error}): make room or give another --data"
            ) from None
        if not any(arriving.iterdir()):
            arriving.rmdir()
        missing = [n for n in source.results if not (target / n).exists()]
        if missing:
            raise InputError(
                f"{source.files[0].name} has no {', '.join(missing)}: it is "
                "another version; give a --mirror"
            )

    def _fetch(self, remote, arriving):
        """Return the path of a file that has arrived and is checked."""
        path = arriving / remote.name
        record = self._record()
        expected = remote.sha256 or record.get(remote.url)
        if path.exists() and files.sha256(path) == expected:
            return path
        if self._folder is not None:
            found = self._copy(remote, path, expected)
        else:
            url = remote.url
            if self._mirror is not None:
                url = f"{self._mirror.rstrip('/')}/{remote.name}"
            found = fetch.fetch(url, path, sha256=expected, size=remote.size)
        if expected is None:
            logging.warning(
                "%s: no published sha256; %s is recorded in %s",
                *(remote.name, found, self._data_dir / _RECORD),
            )
        record[remote.url] = found
        text = json.dumps(record, indent=1, sort_keys=True) + "\n"
        files.write_atomic(self._data_dir / _RECORD, text)
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
                f"{source}: checksum mismatch: its sha256 is {found}, expected "
                f"{expected}; fetch {remote.url} again"
            )
        shutil.copyfile(source, path)
        return found

    def _record(self):
        path = self._data_dir / _RECORD
        try:
            return dict(json.loads(path.read_text("utf-8")))
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError):
            raise InputError(
                f"{path} is damaged: remove it to record checksums anew"
            ) from None


def _place(source, arrived, target):
    """Put the files that have arrived, or what is in them, into `target`."""
    if len(arrived) == 1 and arrived[0].suffix in (".zip", ".gz"):
        fetch.unpack(
            arrived[0],
            target,
            lambda name: any(
                name == result or name.startswith(result + "/")
                for result in source.results
            ),
        )
    elif source.results == ["train.tsv", "dev.tsv", "test.tsv"]:
        write_mrpc(*arrived, target)
    else:
        for path, result in zip(arrived, source.results, strict=True):
            path.replace(target / result)


def write_mrpc(train_file, test_file, dev_ids_file, directory):
    """Write MRPC's `train.tsv`, `dev.tsv` and `test.tsv` as GLUE has them.

    Args:
        train_file: pathlib.Path of `msr_paraphrase_train.txt`.
        test_file: pathlib.Path of `msr_paraphrase_test.txt`.
        dev_ids_file: pathlib.Path of the pairs of ids of the dev set.
        directory: pathlib.Path of an existing folder.

    Raises:
        InputError: a file is not the expected one.
    """
    dev_ids = {tuple(row) for row in _read_rows(dev_ids_file, 2)}
    # Columns: label, two ids, two sentences.
    header, *rows = _read_rows(train_file, 5)
    dev = [row for row in rows if tuple(row[1:3]) in dev_ids]
    if not 0 < len(dev) < len(rows):
        raise InputError(
            f"{dev_ids_file}: {len(dev)} of its pairs are in {train_file}: "
            "the files do not belong together"
        )
    train = [row for row in rows if tuple(row[1:3]) not in dev_ids]
    _write_rows(directory / "train.tsv", [header, *train])
    _write_rows(directory / "dev.tsv", [header, *dev])
    header, *rows = _read_rows(test_file, 5)
    # The number of the row replaces the label.
    numbered = [[i, *row[1:]] for i, row in enumerate(rows)]
    _write_rows(directory / "test.tsv", [["index", *header[1:]], *numbered])


def _read_rows(path, num_columns):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, **_TSV))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 ({error.reason}): remove it and fetch it "
            "again"
        ) from None
    for number, row in enumerate(rows, 1):
        if len(row) != num_columns:
            raise InputError(
                f"{path} line {number} has {len(row)} columns, not "
                f"{num_columns}: remove it and fetch it again"
            )
    return rows


def _write_rows(path, rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", **_TSV).writerows(rows)
    files.write_atomic(path, text.getvalue())
