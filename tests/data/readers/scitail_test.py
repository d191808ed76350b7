import collections
import shutil

import pytest
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import nli

ROW = 'A "cell is small.\tCells are small.\tentails\n'
EXPECTED = examples.Example(
    'A "cell is small.', "Cells are small.", label="entails"
)


def write(folder, content, place="scitail/tsv_format"):
    path = folder / place / "scitail_1.0_dev.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "place",
    [
        "scitail/tsv_format",
        "scitail",
        "scitail/SciTailV1.1/tsv_format",
        "SciTailV1.1/tsv_format",
    ],
)
def test_official_format_has_no_header_and_no_quoting(tmp_path, place):
    write(tmp_path, ROW + ROW.replace("entails", "neutral"), place)
    first, second = nli.read_scitail(tmp_path, "dev")
    assert first == EXPECTED and second.label == "neutral"


@pytest.mark.parametrize(
    "row, reason",
    [
        ("A.\tB.\n", "2 columns, not 3"),
        (
            "A.\tB.\tentailment\n",
            "label 'entailment' is none of entails, neutral",
        ),
        ("A.\t\tentails\n", "hypothesis is empty"),
        (" \tB.\tentails\n", "premise is empty"),
    ],
)
def test_bad_rows(tmp_path, row, reason):
    path = write(tmp_path, ROW + row)
    assert nli.read_scitail(tmp_path, "dev") == [EXPECTED]
    write(tmp_path, ROW + row + row)
    with pytest.raises(
        errors.InputError, match=f"^{path} line 2: {reason}; 2 of 3"
    ):
        nli.read_scitail(tmp_path, "dev")


def test_missing(tmp_path):
    message = "scitail/tsv_format/scitail_1.0_train.tsv does not exist: put"
    with pytest.raises(errors.InputError, match=message):
        nli.read_scitail(tmp_path, "train")
    with pytest.raises(errors.InputError, match="split 'val' is none of"):
        nli.read_scitail(tmp_path, "val")


@pytest.mark.needs_data
@pytest.mark.parametrize(
    "split, labels",
    [
        ("dev", {"entails": 657, "neutral": 647}),
        ("test", {"neutral": 1284, "entails": 842}),
    ],
)
def test_real_rows_under_the_official_name(
    shared_file, tmp_path, monkeypatch, split, labels
):
    monkeypatch.setattr(logging, "warning", lambda *_: pytest.fail("warned"))
    source = shared_file(f"data/scitail/scitail_1.0_{split}_tokenised.tsv")
    (tmp_path / "scitail").mkdir()
    shutil.copy(source, tmp_path / f"scitail/scitail_1.0_{split}.tsv")
    found = nli.read_scitail(tmp_path, split)
    # Counted with cut -f3 | sort | uniq -c.
    assert collections.Counter(example.label for example in found) == labels
