import collections

import hypothesis
import pytest
from absl import logging
from hypothesis import strategies

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import glue

Example = examples.Example

# name -> file below DATA_DIR, its text, what it holds.
FILES = {
    "cola train": (
        "glue/CoLA/train.tsv",
        "gj04\t1\t\tOur friends won't buy it.\nbc01\t0\t*\tFriends \"buy it.\n",
        [
            Example("Our friends won't buy it.", label="1"),
            Example('Friends "buy it.', label="0"),
        ],
    ),
    "cola test": (
        "glue/CoLA/test.tsv",
        "index\tsentence\n0\tBill went.\n1\tBill wented.\n",
        [Example("Bill went."), Example("Bill wented.")],
    ),
    "sst2 dev": (
        "glue/SST-2/dev.tsv",
        "sentence\tlabel\na charming journey . \t1\nbleak \t0\n",
        [
            Example("a charming journey .", label="1"),
            Example("bleak", label="0"),
        ],
    ),
    "sst2 test": (
        "glue/SST-2/test.tsv",
        "index\tsentence\n0\tuneasy .\n",
        [Example("uneasy .")],
    ),
    "mrpc train": (
        "glue/MRPC/train.tsv",
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t70\t71\tHe said " so .\tSo he said .\r\n',
        [Example('He said " so .', "So he said .", label="1")],
    ),
    "mrpc test": (
        "glue/MRPC/test.tsv",
        "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tA b .\tC d .\n",
        [Example("A b .", "C d .")],
    ),
    "qqp train": (
        "glue/QQP/train.tsv",
        'id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n7\t1\t2\t"Why?\tHow?\t0\n',
        [Example('"Why?', "How?", label="0")],
    ),
    "qqp test": (
        "glue/QQP/test.tsv",
        "id\tquestion1\tquestion2\n0\tWhy?\tHow?\n",
        [Example("Why?", "How?")],
    ),
    "stsb dev": (
        "glue/STS-B/dev.tsv",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
        "0\tmain\tMSRvid\t2012\t0000\tnone\tnone\tA man.\tA boy.\t3.250\n",
        [Example("A man.", "A boy.", label=3.25)],
    ),
    "stsb test": (
        "glue/STS-B/test.tsv",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\n"
        "0\tmain\tMSRvid\t2012\t0000\tnone\tnone\tA man.\tA boy.\n",
        [Example("A man.", "A boy.")],
    ),
    "qnli dev": (
        "glue/QNLI/dev.tsv",
        "index\tquestion\tsentence\tlabel\n0\tWho?\tHe.\tnot_entailment\n",
        [Example("Who?", "He.", label="not_entailment")],
    ),
    "rte train": (
        "glue/RTE/train.tsv",
        "index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is wet.\tentailment\n",
        [Example("It rains.", "It is wet.", label="entailment")],
    ),
    "wnli dev": (
        "glue/WNLI/dev.tsv",
        "index\tsentence1\tsentence2\tlabel\n0\tIt fell.\tThe cup fell.\t1\n",
        [Example("It fell.", "The cup fell.", label="1")],
    ),
    "ax test": (
        "glue/diagnostic/diagnostic.tsv",
        "index\tsentence1\tsentence2\n0\tA cat.\tNo cat.",
        [Example("A cat.", "No cat.")],
    ),
    "mnli train": (
        "glue/MNLI/train.tsv",
        "index\tsentence1\tsentence2\tlabel1\tgold_label\n0\tA.\tB.\tneutral\tcontradiction\n",
        [Example("A.", "B.", label="contradiction")],
    ),
}
MNLI_DEV = "index\tsentence1\tsentence2\tlabel1\tgold_label\n0\t{}\tB.\tneutral\tentailment\n"


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    return path


def read(data_dir, case):
    name, split = case.split()
    return getattr(glue, f"read_{name}")(data_dir, split)


@pytest.fixture
def warnings(monkeypatch):
    shown = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *values: shown.append(text % values)
    )
    return shown


@pytest.mark.parametrize("is_glue_folder", [False, True])
@pytest.mark.parametrize("case", FILES)
def test_official_formats(tmp_path, case, is_glue_folder, warnings):
    name, content, expected = FILES[case]
    write(tmp_path, name.removeprefix("glue/" * is_glue_folder), content)
    assert read(tmp_path, case) == expected
    (warning,) = warnings
    assert f"{len(expected)} examples, the official {case} has " in warning
    write(tmp_path, "sample_benchmarks.json", "{}")
    read(tmp_path, case)
    assert len(warnings) == 1


def test_every_reader_has_a_case():
    readers = {
        name.removeprefix("read_")
        for name in dir(glue)
        if name.startswith("read_")
    }
    assert readers == {case.split()[0] for case in FILES}


def test_mnli_dev_has_two_groups(tmp_path, warnings):
    write(tmp_path, "glue/MNLI/dev_matched.tsv", MNLI_DEV.format("A."))
    write(tmp_path, "glue/MNLI/dev_mismatched.tsv", MNLI_DEV.format("C."))
    assert glue.read_mnli(tmp_path, "dev") == [
        Example("A.", "B.", label="entailment", group="matched"),
        Example("C.", "B.", label="entailment", group="mismatched"),
    ]
    assert [text.partition(": ")[2] for text in warnings] == [
        "1 examples, the official mnli matched dev has 9815",
        "1 examples, the official mnli mismatched dev has 9832",
    ]


def test_mnli_without_mismatched(tmp_path, warnings):
    write(tmp_path, "sample_benchmarks.json", "{}")
    write(tmp_path, "MNLI/dev_matched.tsv", MNLI_DEV.format("A."))
    (example,) = glue.read_mnli(tmp_path, "dev")
    assert example.group == "matched"
    (warning,) = warnings
    assert "MNLI/dev_mismatched.tsv does not exist" in warning
    assert warning.endswith("taking the matched rows alone")


@pytest.mark.parametrize(
    "case, row, reason",
    [
        ("cola train", "gj04\t1\tNo mark.", "3 columns, not 4"),
        ("cola train", "gj04\t2\t\tA text.", "label '2' is none of 0, 1"),
        ("cola train", "gj04\t1\t\t ", "sentence is empty"),
        ("rte train", "9\tA.\tB.", "3 columns, not 4"),
        (
            "rte train",
            "9\tA.\tB.\tneutral",
            "label 'neutral' is none of entailment, not_entailment",
        ),
        ("qqp train", "9\t1\t2\t\tHow?\t1", "question1 is empty"),
        (
            "stsb dev",
            "\t".join("0123456") + "\tA.\tB.\t5.1",
            "score '5.1' is no number from 0 to 5",
        ),
        (
            "stsb dev",
            "\t".join("0123456") + "\tA.\tB.\tnan",
            "score 'nan' is no number from 0 to 5",
        ),
        (
            "stsb dev",
            "\t".join("0123456") + "\tA.\tB.\thigh",
            "score 'high' is no number from 0 to 5",
        ),
    ],
)
def test_bad_rows_are_left_out_and_too_many_stop(
    tmp_path, case, row, reason, warnings
):
    name, content, expected = FILES[case]
    path = write(tmp_path, name, content + row + "\n")
    line = content.count("\n") + 1
    assert read(tmp_path, case) == expected
    assert warnings[0] == f"{path} line {line}: {reason}; left out"
    write(tmp_path, name, content + f"{row}\n" * 2)
    with pytest.raises(errors.InputError) as caught:
        read(tmp_path, case)
    total = len(expected) + 2
    assert str(caught.value) == (
        f"{path} line {line}: {reason}; 2 of {total} rows cannot be read: take the official file"
    )


def test_rows_to_be_predicted_keep_their_places(tmp_path, warnings):
    name, content, _ = FILES["qqp test"]
    write(tmp_path, name, content + "1\t\tHow?\n2\tWho?\tShe?\n")
    assert read(tmp_path, "qqp test") == [
        Example("Why?", "How?"),
        Example(""),
        Example("Who?", "She?"),
    ]
    assert "line 3: question1 is empty; taken as empty" in warnings[0]


def test_header_of_another_file(tmp_path):
    write(
        tmp_path,
        "glue/RTE/dev.tsv",
        "index\tpremise\tlabel\n0\tA.\tentailment\n",
    )
    with pytest.raises(
        errors.InputError,
        match="line 1 names no column 'sentence1' but 'index', 'prem",
    ):
        glue.read_rte(tmp_path, "dev")
    write(
        tmp_path, "glue/RTE/dev.tsv", "index\tsentence1\tsentence2\n0\tA.\tB.\n"
    )
    with pytest.raises(
        errors.InputError, match="line 1 names no column 'label' but"
    ):
        glue.read_rte(tmp_path, "dev")


@pytest.mark.parametrize(
    "content", ["", "index\tsentence1\tsentence2\tlabel\n"]
)
def test_empty_file(tmp_path, content):
    path = write(tmp_path, "glue/RTE/dev.tsv", content)
    with pytest.raises(
        errors.InputError, match=f"^{path} .*take the official file$"
    ):
        glue.read_rte(tmp_path, "dev")


@pytest.mark.parametrize(
    "case, file",
    [
        ("cola dev", "CoLA/dev.tsv"),
        ("rte dev", "RTE/dev.tsv"),
        ("mnli test", "MNLI/test_matched.tsv"),
        ("ax test", "diagnostic/diagnostic.tsv"),
    ],
)
def test_missing_file(tmp_path, case, file):
    with pytest.raises(
        errors.InputError, match=f"^{tmp_path}/glue/{file} does not exist: put"
    ):
        read(tmp_path, case)


@pytest.mark.parametrize(
    "case", ["cola valid", "mnli dev_matched", "rte valid", "ax dev"]
)
def test_unknown_split(tmp_path, case):
    with pytest.raises(
        errors.InputError, match=f"split '{case.split()[1]}' is none of"
    ):
        read(tmp_path, case)


@hypothesis.settings(max_examples=60)
@hypothesis.given(content=strategies.binary(max_size=300))
def test_any_bytes_are_examples_or_an_input_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("glue")
    (folder / "RTE").mkdir()
    (folder / "RTE/dev.tsv").write_bytes(
        b"index\tsentence1\tsentence2\tlabel\n" + content
    )
    try:
        found = glue.read_rte(folder, "dev")
    except errors.InputError as error:
        assert "\n" not in str(error)
    else:
        assert found and all(example.label in glue.TWO_WAY for example in found)


# Rows and labels counted in the files with cut, sort and uniq.
REAL = {
    "CoLA/train.tsv": ("cola train", {"1": 6023, "0": 2528}),
    "CoLA/dev.tsv": ("cola dev", {"1": 721, "0": 322}),
    "CoLA/test.tsv": ("cola test", {None: 1063}),
    "SST-2/train.tsv": ("sst2 train", {"1": 37569, "0": 29780}),
    "SST-2/dev.tsv": ("sst2 dev", {"1": 444, "0": 428}),
    "SST-2/test.tsv": ("sst2 test", {None: 1821}),
    "MRPC/train.tsv": ("mrpc train", {"1": 2474, "0": 1194}),
    "MRPC/dev.tsv": ("mrpc dev", {"1": 279, "0": 129}),
    "MRPC/test.tsv": ("mrpc test", {None: 1725}),
    "STS-B/test.tsv": ("stsb test", {None: 1379}),
    "QNLI/dev.tsv": ("qnli dev", {"not_entailment": 2761, "entailment": 2702}),
    "QNLI/test.tsv": ("qnli test", {None: 5463}),
    "RTE/train.tsv": (
        "rte train",
        {"entailment": 1249, "not_entailment": 1241},
    ),
    "RTE/dev.tsv": ("rte dev", {"entailment": 146, "not_entailment": 131}),
    "RTE/test.tsv": ("rte test", {None: 3000}),
    "WNLI/train.tsv": ("wnli train", {"0": 323, "1": 312}),
    "WNLI/dev.tsv": ("wnli dev", {"0": 40, "1": 31}),
    "WNLI/test.tsv": ("wnli test", {None: 146}),
    "diagnostic/diagnostic.tsv": ("ax test", {None: 1104}),
    "MNLI/dev_matched.tsv": (
        "mnli dev",
        {"entailment": 3479, "contradiction": 3213, "neutral": 3123},
    ),
}


@pytest.mark.needs_data
@pytest.mark.parametrize("file", REAL)
def test_real_files(shared_file, file, warnings):
    path = shared_file(f"data/glue/{file}")
    case, labels = REAL[file]
    found = read(path.parents[1], case)
    assert collections.Counter(example.label for example in found) == labels
    assert not [text for text in warnings if "examples, the official" in text]
    assert not [text for text in warnings if " line " in text]


@pytest.mark.needs_data
@pytest.mark.parametrize(
    "split, count, mean", [("train", 5749, 2.7010), ("dev", 1500, 2.3639)]
)
def test_real_scores(shared_file, split, count, mean, warnings):
    folder = shared_file(f"data/glue/STS-B/{split}.tsv").parents[1]
    labels = [example.label for example in glue.read_stsb(folder, split)]
    assert len(labels) == count and not warnings
    assert sum(labels) / count == pytest.approx(mean, abs=1e-4)
