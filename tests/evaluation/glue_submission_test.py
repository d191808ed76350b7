import zipfile

import pytest

from gpt1_keras import errors
from gpt1_keras.evaluation import glue_submission
from tests.data.readers import glue_test

# Copied by hand from the description of the format.
NAMES = {
    *("CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "STS-B.tsv", "QQP.tsv"),
    *("MNLI-m.tsv", "MNLI-mm.tsv", "QNLI.tsv", "RTE.tsv", "WNLI.tsv"),
    "AX.tsv",
}
FEW = dict.fromkeys(glue_submission.FILES, 3)


def contents_of(path):
    with zipfile.ZipFile(path) as archive:
        # Without a date, so that the same files give the same zip.
        assert {info.date_time[0] for info in archive.infolist()} == {1980}
        return {name: archive.read(name) for name in archive.namelist()}


def test_files_by_hand(tmp_path):
    path, filled = glue_submission.write(
        tmp_path / "new" / "folder",
        {
            "rte": ["entailment", "not_entailment"],
            "stsb": ["0.000", 5, "3.123"],
            "cola": [1, "0"],
        },
        num_rows=FEW | {"rte": 2, "cola": 2},
    )
    assert path == tmp_path / "new" / "folder" / "glue_submission.zip"
    expected = {
        "RTE.tsv": "index\tprediction\n0\tentailment\n1\tnot_entailment\n",
        "STS-B.tsv": "index\tprediction\n0\t0.000\n1\t5\n2\t3.123\n",
        "CoLA.tsv": "index\tprediction\n0\t1\n1\t0\n",
        "WNLI.tsv": "index\tprediction\n0\t0\n1\t0\n2\t0\n",
    }
    found = contents_of(path)
    assert found.keys() == NAMES
    for name, content in expected.items():
        assert found[name].decode() == content
        assert (path.parent / name).read_text() == content
    assert set(filled) == set(glue_submission.FILES) - {"rte", "stsb", "cola"}
    with pytest.raises(errors.InputError, match="cola: 1 rows.* use official"):
        glue_submission.write(tmp_path, {"cola": [1]})


def test_fillers_and_row_counts_are_those_of_the_files():
    """As glue_test counts them in the files."""
    dev = {"qnli": "qnli dev", "ax": "mnli dev", "stsb": "", "qqp": ""}
    dev |= dict.fromkeys(("mnli_matched", "mnli_mismatched"), "mnli dev")
    for task, expected in glue_submission.FILES.items():
        if case := dev.get(task, f"{task} train"):
            counts = glue_test.REAL[case][1]
            assert counts.keys() == set(expected.labels)
            assert expected.filler == max(counts, key=counts.get)
        if f"{task} test" in glue_test.REAL:
            found = glue_test.REAL[f"{task} test"][1]
            assert found == {None: expected.num_rows}
    assert glue_submission.FILES["stsb"].filler == "2.701"
    assert glue_submission.FILES["qqp"].filler == "0"  # of 63 %


def replace(name, old, new):
    def change(contents):
        assert old in contents[name]
        contents[name] = contents[name].replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    "change, problems",
    [
        (lambda c: c.pop("AX.tsv"), ["AX.tsv is missing"]),
        (replace("AX.tsv", b"index", b"id"), ["AX.tsv: the header is 'id\\tprediction', not 'index\\tprediction'"]),
        (
            replace("AX.tsv", b"0\tentailment\n", b""),
            [
                "AX.tsv: 2 rows, but the test file has 3",
                "AX.tsv: 2 rows are wrong; the first is line 2: '1\\tentailment', expected 0, a tab and entailment, neutral, contradiction",
            ],
        ),
        *(
            (replace("STS-B.tsv", b"2.701", score.encode()), [f"STS-B.tsv: 1 rows are wrong; the first is line 2: {'0'+chr(9)+score!r}, expected 0, a tab and a number from 0 to 5"])
            for score in ("-1", "5.01", "\uff13", "1_0", " 3", "nan")
        ),
        (lambda c: c.update({"RTE.tsv": c["RTE.tsv"].replace(b"\n", b"\r\n")}), []),
    ],
)  # fmt: skip
def test_problems(tmp_path, change, problems):
    submission, _ = glue_submission.write(tmp_path, {}, num_rows=FEW)
    assert glue_submission.check(submission, num_rows=FEW) == []
    contents = contents_of(submission)
    change(contents)
    with zipfile.ZipFile(submission, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    assert glue_submission.check(submission, num_rows=FEW) == problems


def test_a_zip_that_ends_early(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "")
    content = bytearray(path.read_bytes())
    sizes = content.index(b"PK\1\2") + 20
    content[sizes : sizes + 8] = b"\0\1\0\0" * 2
    path.write_bytes(content)
    (problem,) = glue_submission.check(path)
    assert problem.startswith("a.zip is not a readable zip: EOFError")
