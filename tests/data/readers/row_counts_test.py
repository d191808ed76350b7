import pytest
from absl import logging

from gpt1_keras.data.readers import rows


@pytest.fixture
def warnings(monkeypatch):
    shown = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *values: shown.append(text % values)
    )
    return shown


# From t5/data/glue_utils.py and spec b.1: sizes that give the updates of the
# paper's recipe, 3 epochs of 32.
@pytest.mark.parametrize(
    "name, updates",
    [
        ("cola", 801),
        ("sst2", 6_312),
        ("mrpc", 342),
        ("stsb", 537),
        ("story_cloze", 138),
        ("qqp", 34_110),
        ("mnli", 36_813),
        ("qnli", 9_819),
        ("rte", 231),
    ],
)
def test_sizes_give_the_known_numbers_of_updates(name, updates):
    assert rows.official_row_count(name, "train") // 32 * 3 == updates


def test_official_by_split():
    assert rows.official_row_count("rte", "dev") == 277
    assert rows.official_row_count("race", "test") == 4_934
    assert rows.official_row_count("ax", "train") == 0


def test_another_count_is_one_warning(tmp_path, warnings):
    rows.check_row_count(tmp_path, tmp_path / "dev.tsv", "rte", "dev", 276)
    assert warnings == [
        f"{tmp_path}/dev.tsv: 276 examples, the official rte dev has 277"
    ]


def test_official_count_and_sample_data_are_silent(tmp_path, warnings):
    rows.check_row_count(tmp_path, "dev.tsv", "rte", "dev", 277)
    (tmp_path / "sample_benchmarks.json").write_text("{}")
    rows.check_row_count(str(tmp_path), "dev.tsv", "rte", "dev", 12)
    assert not warnings
