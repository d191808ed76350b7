import collections
import shutil

import pytest

from gpt1_keras.data import examples
from gpt1_keras.data.readers import nli
from tests.reference import data_files

PAIR = {
    "annotator_labels": ["neutral", "entailment"],
    "gold_label": "neutral",
    "sentence1": 'A "man" outdoors. ',
    "sentence1_parse": "(ROOT ...)",
    "sentence2": "A man alone.",
}
SNLI = examples.Example('A "man" outdoors.', "A man alone.", label="neutral")
# No header and no quoting.
ROW = 'A "cell is small.\tCells are small.\tentails\n'
SCITAIL = examples.Example(
    'A "cell is small.', "Cells are small.", label="entails"
)


def test_places_and_formats(tmp_path):
    for i, folder in enumerate(("snli", "snli/snli_1.0", "snli_1.0")):
        data = tmp_path / f"snli {i}"
        # Any number of pairs without a gold label are dropped.
        rows = [*2 * [PAIR | {"gold_label": "-"}], PAIR]
        data_files.write(data, f"{folder}/snli_1.0_dev.jsonl", rows)
        assert nli.read_snli(data, "dev") == [SNLI]
    folders = ["scitail/tsv_format", "scitail"]
    folders += ["scitail/SciTailV1.1/tsv_format", "SciTailV1.1/tsv_format"]
    for i, folder in enumerate(folders):
        data = tmp_path / f"scitail {i}"
        rows = ROW + ROW.replace("entails", "neutral")
        data_files.write(data, f"{folder}/scitail_1.0_dev.tsv", rows)
        first, second = nli.read_scitail(data, "dev")
        assert first == SCITAIL and second.label == "neutral"


# Counted with grep -c and with cut -f3 | sort | uniq -c.
@pytest.mark.needs_data
def test_real_files(shared_file, tmp_path, logged):
    folder = shared_file("data/snli/snli_1.0_dev.jsonl").parents[1]
    found = nli.read_snli(folder, "dev")
    assert collections.Counter(e.label for e in found) == {
        **{"entailment": 3329, "contradiction": 3278, "neutral": 3235}
    }
    (tmp_path / "scitail").mkdir()
    for split, labels in (
        ("dev", {"entails": 657, "neutral": 647}),
        ("test", {"neutral": 1284, "entails": 842}),
    ):
        name = f"scitail_1.0_{split}"
        source = shared_file(f"data/scitail/{name}_tokenised.tsv")
        shutil.copy(source, tmp_path / f"scitail/{name}.tsv")
        found = nli.read_scitail(tmp_path, split)
        assert collections.Counter(e.label for e in found) == labels
    assert not logged
