import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.sample_world import benchmarks
from tests.reference import data_files


def test_the_same_arguments_give_the_same_bytes(folder, tmp_path):
    again = tmp_path / "again"
    benchmarks.write_benchmarks(again, num_train=120, num_dev=24, num_test=12)
    assert data_files.contents(again) == data_files.contents(folder)


def test_too_few_and_too_many_are_refused(tmp_path, monkeypatch):
    numbers = {"num_train": 9, "num_dev": 1, "num_test": 9}
    with pytest.raises(errors.InputError, match="1 dev examples"):
        benchmarks.write_benchmarks(tmp_path / "a", **numbers)
    same = examples.Example("The same.", label="1")
    monkeypatch.setattr(benchmarks, "_MOST_VAIN_DRAWS", 5)
    with pytest.raises(
        errors.InputError, match="only 1 different examples of cola"
    ):
        benchmarks.Source(0, "cola").take(lambda _: [same], 2)
    assert list(tmp_path.iterdir()) == []
