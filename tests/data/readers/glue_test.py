import collections

import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue
from tests.reference import data_files

Example = examples.Example

STSB = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
STSB_ROW = "0\tmain\tMSRvid\t2012\t0000\tnone\tnone\tA man.\tA boy."
# name -> file below DATA_DIR, its text, what it holds.
# fmt: off
FILES = {
    "cola train": ("glue/CoLA/train.tsv", "gj04\t1\t\tOur friends won't buy it.\nbc01\t0\t*\tFriends \"buy it.\n", [Example("Our friends won't buy it.", label="1"), Example('Friends "buy it.', label="0")]),
    "cola test": ("glue/CoLA/test.tsv", "index\tsentence\n0\tBill went.\n1\tBill wented.\n", [Example("Bill went."), Example("Bill wented.")]),
    "sst2 dev": ("glue/SST-2/dev.tsv", "sentence\tlabel\na charming journey . \t1\nbleak \t0\n", [Example("a charming journey .", label="1"), Example("bleak", label="0")]),
    "sst2 test": ("glue/SST-2/test.tsv", "index\tsentence\n0\tuneasy .\n", [Example("uneasy .")]),
    "mrpc train": ("glue/MRPC/train.tsv", '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t70\t71\tHe said " so .\tSo he said .\r\n', [Example('He said " so .', "So he said .", label="1")]),
    "mrpc test": ("glue/MRPC/test.tsv", "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tA b .\tC d .\n", [Example("A b .", "C d .")]),
    "qqp train": ("glue/QQP/train.tsv", 'id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n7\t1\t2\t"Why?\tHow?\t0\n', [Example('"Why?', "How?", label="0")]),
    "qqp test": ("glue/QQP/test.tsv", "id\tquestion1\tquestion2\n0\tWhy?\tHow?\n", [Example("Why?", "How?")]),
    "stsb dev": ("glue/STS-B/dev.tsv", f"{STSB}\tscore\n{STSB_ROW}\t3.250\n", [Example("A man.", "A boy.", label=3.25)]),
    "stsb test": ("glue/STS-B/test.tsv", f"{STSB}\n{STSB_ROW}\n", [Example("A man.", "A boy.")]),
    "qnli dev": ("glue/QNLI/dev.tsv", "index\tquestion\tsentence\tlabel\n0\tWho?\tHe.\tnot_entailment\n", [Example("Who?", "He.", label="not_entailment")]),
    "rte train": ("glue/RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is wet.\tentailment\n", [Example("It rains.", "It is wet.", label="entailment")]),
    "wnli dev": ("glue/WNLI/dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\tIt fell.\tThe cup fell.\t1\n", [Example("It fell.", "The cup fell.", label="1")]),
    "ax test": ("glue/diagnostic/diagnostic.tsv", "index\tsentence1\tsentence2\n0\tA cat.\tNo cat.", [Example("A cat.", "No cat.")]),
    "mnli train": ("glue/MNLI/train.tsv", "index\tsentence1\tsentence2\tlabel1\tgold_label\n0\tA.\tB.\tneutral\tcontradiction\n", [Example("A.", "B.", label="contradiction")]),
}
# fmt: on
MNLI_DEV = "index\tsentence1\tsentence2\tlabel1\tgold_label\n0\t{}\tB.\tneutral\tentailment\n"


def read(data_dir, case):
    name, split = case.split()
    return getattr(glue, f"read_{name}")(data_dir, split)


def test_official_formats(tmp_path, logged):
    for case, (name, content, expected) in FILES.items():
        places = {"a": name, "b": name.removeprefix("glue/")}
        for folder, place in places.items():
            data_files.write(tmp_path / case / folder, place, content)
            assert read(tmp_path / case / folder, case) == expected
    assert not logged
    readers = [name for name in dir(glue) if name.startswith("read_")]
    assert set(readers) == {f"read_{case.split()[0]}" for case in FILES}


def test_mnli_dev_has_two_groups(tmp_path, logged):
    data_files.write(tmp_path, "MNLI/dev_matched.tsv", MNLI_DEV.format("A."))
    matched = Example("A.", "B.", label="entailment", group="matched")
    assert glue.read_mnli(tmp_path, "dev") == [matched]
    (warning,) = logged
    assert warning == "no MNLI/dev_mismatched.tsv: matched rows only"
    data_files.write(tmp_path, "MNLI/dev_mismatched.tsv", MNLI_DEV.format("C."))
    other = Example("C.", "B.", label="entailment", group="mismatched")
    assert glue.read_mnli(tmp_path, "dev") == [matched, other]
    assert len(logged) == 1


def test_only_a_test_file_keeps_the_place_of_a_bad_row(tmp_path, logged):
    for case, content, expected in (
        ("sst2 test", "index\tsentence\n0\tA.\n1\t\n2\tC.\n", ["A.", "", "C."]),
        ("sst2 dev", "sentence\tlabel\nA.\t1\n\t0\nC.\t1\n", ["A.", "C."]),
    ):
        name = f"SST-2/{case.split()[1]}.tsv"
        data_files.write(tmp_path, name, content)
        assert [e.text for e in read(tmp_path, case)] == expected
    assert len(logged) == 2
    content = "index\tsentence1\tsentence2\n0\t\tB.\n1\tC.\tD.\n"
    data_files.write(tmp_path, "MNLI/test_matched.tsv", content)
    groups = [e.group for e in glue.read_mnli(tmp_path, "test")]
    assert groups == ["matched", "matched"]
    # The server reads predictions in the order of `index`.
    content = "index\tsentence\n0\tA.\n2\tC.\n1\tB.\n"
    path = data_files.write(tmp_path, "SST-2/test.tsv", content)
    with pytest.raises(errors.InputError) as caught:
        read(tmp_path, "sst2 test")
    assert str(caught.value).startswith(f"{path} line 3: `index` is 2 after 0:")
    data_files.write(tmp_path, "SST-2/dev.tsv", "sentence\nA.\nB.\n")
    with pytest.raises(errors.InputError, match="label is missing"):
        read(tmp_path, "sst2 dev")


# Rows and labels counted in the files with cut, sort and uniq.
# fmt: off
REAL = {
    "cola train": ("CoLA/train", {"1": 6023, "0": 2528}), "cola dev": ("CoLA/dev", {"1": 721, "0": 322}), "cola test": ("CoLA/test", {None: 1063}),
    "sst2 train": ("SST-2/train", {"1": 37569, "0": 29780}), "sst2 dev": ("SST-2/dev", {"1": 444, "0": 428}), "sst2 test": ("SST-2/test", {None: 1821}),
    "mrpc train": ("MRPC/train", {"1": 2474, "0": 1194}), "mrpc dev": ("MRPC/dev", {"1": 279, "0": 129}), "mrpc test": ("MRPC/test", {None: 1725}),
    "qnli dev": ("QNLI/dev", {"not_entailment": 2761, "entailment": 2702}), "qnli test": ("QNLI/test", {None: 5463}), "stsb test": ("STS-B/test", {None: 1379}),
    "rte train": ("RTE/train", {"entailment": 1249, "not_entailment": 1241}), "rte dev": ("RTE/dev", {"entailment": 146, "not_entailment": 131}), "rte test": ("RTE/test", {None: 3000}),
    "wnli train": ("WNLI/train", {"0": 323, "1": 312}), "wnli dev": ("WNLI/dev", {"0": 40, "1": 31}), "wnli test": ("WNLI/test", {None: 146}),
    "ax test": ("diagnostic/diagnostic", {None: 1104}), "mnli dev": ("MNLI/dev_matched", {"entailment": 3479, "contradiction": 3213, "neutral": 3123}),
}
# fmt: on


@pytest.mark.needs_data
def test_real_files(shared_file, logged):
    for case, (file, labels) in REAL.items():
        found = read(shared_file(f"data/glue/{file}.tsv").parents[1], case)
        assert collections.Counter(e.label for e in found) == labels, case
        assert not [text for text in logged if " line " in text], case
    for split, count, mean in (("train", 5749, 2.7010), ("dev", 1500, 2.3639)):
        folder = shared_file(f"data/glue/STS-B/{split}.tsv").parents[1]
        labels = [example.label for example in glue.read_stsb(folder, split)]
        assert len(labels) == count
        assert sum(labels) / count == pytest.approx(mean, abs=1e-4)
