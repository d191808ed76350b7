"""Write and check the zip that the GLUE server accepts.

It holds eleven TSV files, each with the header `index<TAB>prediction` and one
line per test row, numbered from 0.
"""

import dataclasses
import io
import pathlib
import re
import zipfile

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.data.readers import glue

ZIP_NAME = "glue_submission.zip"
_HEADER = "index\tprediction"


@dataclasses.dataclass(frozen=True)
class File:
    """What the server expects of one file."""

    name: str
    labels: tuple  # of str; () for a score from 0 to 5
    num_rows: int  # of the official test file
    # The constant prediction of a task without a model: the most frequent label
    # (or the mean score) of the training file; for MNLI and QNLI, whose classes
    # are balanced there, of the dev file; for AX, which has neither, of MNLI's.
    filler: str


FILES = {  # by task
    "cola": File("CoLA.tsv", glue.BINARY, 1_063, "1"),
    "sst2": File("SST-2.tsv", glue.BINARY, 1_821, "1"),
    "mrpc": File("MRPC.tsv", glue.BINARY, 1_725, "1"),
    "stsb": File("STS-B.tsv", (), 1_379, "2.701"),
    "qqp": File("QQP.tsv", glue.BINARY, 390_965, "0"),
    "mnli_matched": File("MNLI-m.tsv", glue.THREE_WAY, 9_796, "entailment"),
    "mnli_mismatched": File("MNLI-mm.tsv", glue.THREE_WAY, 9_847, "entailment"),
    "qnli": File("QNLI.tsv", glue.TWO_WAY, 5_463, "not_entailment"),
    "rte": File("RTE.tsv", glue.TWO_WAY, 3_000, "entailment"),
    "wnli": File("WNLI.tsv", glue.BINARY, 146, "0"),
    "ax": File("AX.tsv", glue.THREE_WAY, 1_104, "entailment"),
}


def write(directory, predictions, *, num_rows=None):
    """Write the TSV files to a folder and pack them into a zip.

    `predictions` is {key of `FILES`: labels or, for "stsb", numbers}, in the
    order of the test rows; other tasks get the filler. `num_rows` is {task:
    number of test rows} where that is not the official one. Returns the path of
    the zip, and a list of the filled tasks.
    """
    contents = {}
    for task, expected in _expected(num_rows).items():
        fillers = [expected.filler] * expected.num_rows
        answers = predictions.get(task, fillers)
        lines = [_HEADER, *(f"{i}\t{each}" for i, each in enumerate(answers))]
        contents[expected.name] = "\n".join(lines) + "\n"
        if problem := next(_problems(contents[expected.name], expected), None):
            raise errors.InputError(f"{task}: {problem}: use official files")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            files.write_atomic(directory / name, content)
            # Without the date, so that the same files give the same zip.
            info = zipfile.ZipInfo(name)
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    files.write_atomic(directory / ZIP_NAME, buffer.getvalue())
    return directory / ZIP_NAME, [t for t in FILES if t not in predictions]


def check(path, *, num_rows=None):
    """Return a list of reasons why the GLUE server would refuse a zip."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise errors.InputError(f"{path} is not a file: give a zip to check")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [i.filename for i in archive.infolist() if not i.is_dir()]
            contents = {name: archive.read(name) for name in names}
    except Exception as error:  # Of many kinds, not all documented.
        return [f"{path.name} is not a readable zip: {error!r}"]
    expected = {file.name: file for file in _expected(num_rows).values()}
    problems = [f"{n} is missing" for n in expected if n not in names]
    for name, content in contents.items():
        if name not in expected:
            problems.append(f"{name} does not belong to a submission")
            continue
        if names.count(name) > 1:
            problems.append(f"{name} appears {names.count(name)} times")
        found = _problems(content.decode("utf-8", "replace"), expected[name])
        problems += [f"{name}: {problem}" for problem in found]
    return problems


def _expected(num_rows):
    return FILES | {
        task: dataclasses.replace(FILES[task], num_rows=number)
        for task, number in (num_rows or {}).items()
    }


def _problems(content, expected):
    """Yield what is wrong with one file, at most one problem of each kind."""
    content = content.replace("\r\n", "\n").removesuffix("\n")
    header, *rows = content.split("\n")
    if header != _HEADER:
        yield f"the header is {header[:40]!r}, not {_HEADER!r}"
    if len(rows) != expected.num_rows:
        yield f"{len(rows)} rows, but the test file has {expected.num_rows}"
    is_right = [_is_row(row, i, expected.labels) for i, row in enumerate(rows)]
    if not all(is_right):
        i, allowed = is_right.index(False), ", ".join(expected.labels)
        yield (
            f"{is_right.count(False)} rows are wrong; the first is line"
            f" {i + 2}: {rows[i][:40]!r}, expected {i}, a tab and"
            f" {allowed or 'a number from 0 to 5'}"
        )


def _is_row(line, index, labels):
    fields = line.split("\t")
    if len(fields) != 2 or fields[0] != str(index):
        return False
    if labels:
        return fields[1] in labels
    # `float` reads more than a server may: "\uff11", "1_0", " 1".
    number = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
    if re.fullmatch(number, fields[1]) is None:
        return False
    return glue.LOWEST_SCORE <= float(fields[1]) <= glue.HIGHEST_SCORE
