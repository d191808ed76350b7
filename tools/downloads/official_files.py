"""Brings the files of a source (`data.sources`) to where readers look."""

import dataclasses
import json
import pathlib
import re
import shutil

from absl import logging

from gpt1_keras import files
from gpt1_keras.errors import InputError
from tools.downloads import fetch

# -----------------------------------------------------------------------------
# Where the official files come from, and where they go below DATA_DIR.

_GLUE = "https://dl.fbaipublicfiles.com/glue/data"
_SENTEVAL = "https://dl.fbaipublicfiles.com/senteval/senteval_data"
_OPENAI = (
    "https://raw.githubusercontent.com/openai/finetune-transformer-lm/"
    "master/model"
)
_DPR = "https://s3.amazonaws.com/datasets.huggingface.co"


@dataclasses.dataclass(frozen=True)
class Remote:
    """One file of the network.

    Attributes:
        url: str; its last part is the file's name, also on a mirror.
        sha256: str, or None where nobody has published it: then the first
            one seen is remembered.
        size: int, bytes, or None.
    """

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def name(self):
        """The file's name, the same at its home and on a mirror."""
        return self.url.rpartition("/")[2]


@dataclasses.dataclass(frozen=True)
class Source:
    """What one name stands for.

    Attributes:
        files: tuple of Remote.
        folder: str, below DATA_DIR, where the files end up.
        results: tuple of str, files below `folder` that are there when all
            is done.
        members: regular expression of the files of an archive to be taken;
            None where the files are taken as they are.
        rename: dict from a file's name to the one it is to have.
        is_mrpc: bool, whether `data.mrpc` makes tables of the files.
    """

    files: tuple
    folder: str
    results: tuple
    members: re.Pattern | None = None
    rename: dict = dataclasses.field(default_factory=dict)
    is_mrpc: bool = False


def _glue(file, sha256, size, folder, splits=("train", "dev", "test")):
    results = tuple(f"{folder}/{split}.tsv" for split in splits)
    return Source(
        (Remote(f"{_GLUE}/{file}", sha256, size),),
        "glue",
        results,
        re.compile("|".join(map(re.escape, results))),
    )


_VOCABULARY = (
    Remote(
        f"{_OPENAI}/encoder_bpe_40000.json",
        "fdf49b19e7de236852091da09b84a7a3cd5e7b0e79916376cf45f6b8127b8078",
        815973,
    ),
    Remote(
        f"{_OPENAI}/vocab_40000.bpe",
        "0ea9b51ae695073cd871e0358f7016311d671a7ff3963e367d5236522f294725",
        458495,
    ),
)
_WEIGHTS = (
    *_VOCABULARY,
    Remote(f"{_OPENAI}/params_shapes.json"),
    *(Remote(f"{_OPENAI}/params_{i}.npy") for i in range(10)),
)

# Name -> Source.
SOURCES = {
    "cola": _glue(
        "CoLA.zip",
        "f212fcd832b8f7b435fb991f101abf89f96b933ab400603bf198960dfc32cbff",
        376971,
        "CoLA",
    ),
    "sst2": _glue(
        "SST-2.zip",
        "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa",
        7439277,
        "SST-2",
    ),
    "mrpc": Source(
        (
            Remote(
                f"{_SENTEVAL}/msr_paraphrase_train.txt",
                "60a9b09084528f0673eedee2b69cb941"
                "920f0b8cd0eeccefc464a98768457f89",
                1047044,
            ),
            Remote(
                f"{_SENTEVAL}/msr_paraphrase_test.txt",
                "a04e271090879aaba6423d65b94950c0"
                "89298587d9c084bf9cd7439bd785f784",
                441275,
            ),
            Remote(
                f"{_GLUE}/mrpc_dev_ids.tsv",
                "971d7767d81b997fd9060ade0ec23c4f"
                "c31cbb226a55d1bd4a1bac474eb81dc7",
                6222,
            ),
        ),
        "glue/MRPC",
        ("train.tsv", "dev.tsv", "test.tsv"),
        is_mrpc=True,
    ),
    "qqp": _glue(
        "QQP-clean.zip",
        "40e7c862c04eb26ee04b67fd900e76c45c6ba8e6d8fab4f8f1f8072a1a3fbae0",
        41696084,
        "QQP",
    ),
    "stsb": _glue(
        "STS-B.zip",
        "e60a6393de5a8b5b9bac5020a1554b54e3691f9d600b775bd131e613ac179c85",
        802872,
        "STS-B",
    ),
    "mnli": _glue(
        "MNLI.zip",
        "e7c1d896d26ed6caf700110645df426cc2d8ebf02a5ab743d5a5c68ac1c83633",
        312783507,
        "MNLI",
        (
            *("train", "dev_matched", "dev_mismatched"),
            *("test_matched", "test_mismatched"),
        ),
    ),
    "qnli": _glue(
        "QNLIv2.zip",
        "e634e78627a29adaecd4f955359b22bf5e70f2cbd93b493f2d624138a0c0e5f5",
        10627589,
        "QNLI",
    ),
    "rte": _glue(
        "RTE.zip",
        "6bf86de103ecd335f3441bd43574d23fef87ecc695977a63b82d5efb206556ee",
        697150,
        "RTE",
    ),
    "wnli": _glue(
        "WNLI.zip",
        "ae0e8e4d16f4d46d4a0a566ec7ecceccfd3fbfaa4a7a4b4e02848c0f2561ac46",
        28999,
        "WNLI",
    ),
    "ax": Source(
        (
            Remote(
                f"{_GLUE}/AX.tsv",
                "0e13510b1bb14436ff7e2ee82338f0ef"
                "b0133ecf2e73507a697dc210db3f05fd",
                222257,
            ),
        ),
        "glue/diagnostic",
        ("diagnostic.tsv",),
        rename={"AX.tsv": "diagnostic.tsv"},
    ),
    "snli": Source(
        (
            Remote(
                "https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
                "afb3d70a5af5d8de0d9d81e2637e0fb8"
                "c22d1235c2749d83125ca43dab0dbd3e",
                94550081,
            ),
        ),
        "snli",
        tuple(
            f"snli_1.0/snli_1.0_{split}.jsonl"
            for split in ("train", "dev", "test")
        ),
        re.compile(r"snli_1\.0/snli_1\.0_(train|dev|test)\.jsonl"),
    ),
    "scitail": Source(
        (
            Remote(
                "http://data.allenai.org.s3.amazonaws.com/downloads/"
                "SciTailV1.1.zip",
                "3fccd37350a94ca280b75998568df85f"
                "c2fc62843a3198d644fcbf858e6943d5",
                14174621,
            ),
        ),
        "scitail",
        tuple(
            f"SciTailV1.1/tsv_format/scitail_1.0_{split}.tsv"
            for split in ("train", "dev", "test")
        ),
        re.compile(
            r"SciTailV1\.1/tsv_format/scitail_1\.0_(train|dev|test)\.tsv"
        ),
    ),
    "race": Source(
        (
            Remote(
                "http://www.cs.cmu.edu/~glai1/data/race/RACE.tar.gz",
                "b2769cc9fdc5c546a693300eb9a966ce"
                "c6870bd349fbc44ed5225f8ad33006e5",
                25443609,
            ),
        ),
        "race",
        tuple(
            f"RACE/{split}/{group}"
            for split in ("train", "dev", "test")
            for group in ("middle", "high")
        ),
        re.compile(r"RACE/(train|dev|test)/(middle|high)/[^/]+\.txt"),
    ),
    "dprd": Source(
        (
            Remote(
                f"{_DPR}/definite_pronoun_resolution/train.c.txt",
                "c310158d0cbac1a556e3284e6c167f44"
                "78271d8d50b0b9d15dfe428c905a0867",
                160408,
            ),
            Remote(
                f"{_DPR}/definite_pronoun_resolution/test.c.txt",
                "cf1cf025e1d59a5b363e6dcfbd5a13aa"
                "e8a9830831ac16fd7f865aca7a1559d8",
                67044,
            ),
        ),
        "dpr",
        ("train.c.txt", "test.c.txt"),
    ),
    "wsc": Source(
        (
            Remote(
                "https://cs.nyu.edu/~davise/papers/WinogradSchemas/"
                "WSCollection.xml"
            ),
        ),
        "winograd",
        ("WSCollection.xml",),
    ),
    "vocabulary": Source(
        _VOCABULARY, "openai", tuple(file.name for file in _VOCABULARY)
    ),
    "weights": Source(
        _WEIGHTS, "openai", tuple(file.name for file in _WEIGHTS)
    ),
}
# Names that stand for several.
GROUPS = {
    "glue": ("cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte")
    + ("wnli", "ax")
}
# Names of data that nobody may pass on, and how to come by them.
BY_HAND = {
    "story_cloze": "ask for the two .csv files of spring 2016 at "
    "https://cs.rochester.edu/nlp/rocstories and put them into "
    "DATA/story_cloze",
}


# -----------------------------------------------------------------------------
# MRPC as GLUE has it, from the files that GLUE's own script starts with.

_NUM_COLUMNS = 5  # label, two ids, two sentences


def write_tables(train_file, test_file, dev_ids_file, directory):
    """Write `train.tsv`, `dev.tsv` and `test.tsv`.

    Args:
        train_file: pathlib.Path of `msr_paraphrase_train.txt`.
        test_file: pathlib.Path of `msr_paraphrase_test.txt`.
        dev_ids_file: pathlib.Path of the pairs of ids that are dev.
        directory: pathlib.Path of an existing folder.

    Raises:
        InputError: a file is none of these.
    """
    dev_ids = {tuple(row) for row in _rows(dev_ids_file, 2)}
    header, *rows = _rows(train_file, _NUM_COLUMNS)
    is_dev = [tuple(row[1:3]) in dev_ids for row in rows]
    if not 0 < sum(is_dev) < len(rows):
        raise InputError(
            f"{dev_ids_file}: {sum(is_dev)} of its pairs are in {train_file}: "
            "the files do not belong together"
        )
    for name, wanted in (("train", False), ("dev", True)):
        kept = [row for row, found in zip(rows, is_dev) if found == wanted]
        _write(directory / f"{name}.tsv", [header, *kept])
    header, *rows = _rows(test_file, _NUM_COLUMNS)
    # The label, the first column, makes way for the number of the row.
    numbered = [[str(i), *row[1:]] for i, row in enumerate(rows)]
    _write(directory / "test.tsv", [["index", *header[1:]], *numbered])


def _rows(path, num_columns):
    """Return the rows of a table; a byte-order mark stays where it is."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 ({error.reason}): remove it and fetch it "
            "again"
        ) from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != num_columns:
            raise InputError(
                f"{path} line {number} has {len(row)} columns, not "
                f"{num_columns}: remove it and fetch it again"
            )
    return rows


def _write(path, rows):
    files.write_atomic(path, "".join("\t".join(row) + "\n" for row in rows))


# -----------------------------------------------------------------------------
# Brings the files of a source (`data.sources`) to where readers look.

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
                fetch.unpack(path, target, source.members)
        elif source.is_mrpc:
            write_tables(*came, target)
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
            found = fetch.fetch(url, path, sha256=expected, size=remote.size)
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
