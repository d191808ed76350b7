import pytest

from gpt1_keras.data import transforms
from gpt1_keras.layers import heads
from gpt1_keras.tasks import benchmarks


@pytest.mark.parametrize(
    "name, metrics, file, row",
    [
        ("cola", ["matthews", "accuracy"], "CoLA/dev.tsv", "gj04\t{}\t\t{}\n"),
        ("sst2", ["accuracy"], "SST-2/dev.tsv", "{1}\t{0}\n"),
    ],
)
def test_from_file_to_metrics(tmp_path, name, metrics, file, row):
    found = getattr(benchmarks, name)()
    assert found.name == name
    assert found.transform is transforms.classification
    assert found.build_head is heads.SumHead and found.target.num_outputs == 2

    path = tmp_path / file
    path.parent.mkdir()
    header = "sentence\tlabel\n" if name == "sst2" else ""
    path.write_text(
        header + row.format(1, "It rains.") + row.format(0, "It it.")
    )
    rows = found.read(tmp_path, "dev")
    assert [(r.text, found.target.value(r)) for r in rows] == [
        ("It rains.", 1),
        ("It it.", 0),
    ]
    measured = found.measure(rows, [1, 0])
    assert list(measured) == metrics and set(measured.values()) == {1.0}
