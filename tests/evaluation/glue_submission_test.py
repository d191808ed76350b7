import zipfile

import pytest

from gpt1_keras.evaluation import glue_submission

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


# Task -> training (or dev) file and the column of its label, test file.
OFFICIAL = {
    "cola": ("CoLA/train.tsv", 1, "CoLA/test.tsv"),
    "sst2": ("SST-2/train.tsv", -1, "SST-2/test.tsv"),
    "mrpc": ("MRPC/train.tsv", 0, "MRPC/test.tsv"),
    "stsb": ("STS-B/train.tsv", -1, "STS-B/test.tsv"),
    "qqp": ("QQP/train_subset.tsv", 5, None),
    "rte": ("RTE/train.tsv", -1, "RTE/test.tsv"),
    "wnli": ("WNLI/train.tsv", -1, "WNLI/test.tsv"),
    "qnli": ("QNLI/dev.tsv", -1, "QNLI/test.tsv"),
    "mnli_matched": ("MNLI/dev_matched.tsv", -1, None),
    "mnli_mismatched": ("MNLI/dev_matched.tsv", -1, None),
    "ax": ("MNLI/dev_matched.tsv", -1, "diagnostic/diagnostic.tsv"),
}


@pytest.mark.parametrize("task", OFFICIAL)
@pytest.mark.needs_data
def test_fillers_and_row_counts_are_those_of_the_files(shared_file, task):
    file, column, test_file = OFFICIAL[task]
    expected = glue_submission.FILES[task]
    lines = shared_file(f"data/glue/{file}").read_text("utf-8").split("\n")
    labels = [line.split("\t")[column] for line in lines if line]
    if task == "stsb":
        scores = list(map(float, labels[1:]))
        mean = sum(scores) / 5749
        assert float(expected.filler) == pytest.approx(mean, abs=5e-4)
    else:
        counts = {label: labels.count(label) for label in expected.labels}
        assert expected.filler == max(counts, key=counts.get)
        assert min(counts.values()) > 100
    if test_file is not None:
        content = shared_file(f"data/glue/{test_file}").read_bytes()
        assert content.rstrip(b"\n").count(b"\n") == expected.num_rows


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
        (replace("STS-B.tsv", b"2.701", b"-1"), ["STS-B.tsv: 1 rows are wrong; the first is line 2: '0\\t-1', expected 0, a tab and a number from 0 to 5"]),
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
