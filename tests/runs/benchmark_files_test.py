import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_task


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(folder))
    return folder


def of(data_dir=None, *, sample_examples=8, sample_seed=0):
    return sources.BenchmarkFiles(
        data_dir=data_dir,
        sample_examples=sample_examples,
        sample_seed=sample_seed,
    )


def test_official_files(tmp_path, cache):
    data = of(str(tiny_task.write_cola(tmp_path / "data")))
    assert not data.is_sample
    task = benchmarks.benchmark("cola")
    for split, size in tiny_task.SIZES.items():
        found = data.read(task, split)
        assert len(found) == size
        assert all(isinstance(each, examples.Example) for each in found)
    assert not cache.exists()


def test_splits_of_the_last_task_are_kept(tmp_path):
    data = of(str(tiny_task.write_cola(tmp_path / "data")))
    cola = benchmarks.benchmark("cola")
    kept = [data.read(cola, split) for split in ("train", "dev")]
    assert data.read(cola, "train") is kept[0]
    assert data.read(cola, "dev") is kept[1]
    with pytest.raises(errors.InputError):
        data.read(benchmarks.benchmark("rte"), "dev")
    again = data.read(cola, "dev")
    assert again == kept[1] and again is not kept[1]


def test_sample_files_are_written_once(cache, caplog):
    data = of()
    assert data.is_sample
    assert not cache.exists()  # Nothing is written before it is asked for.
    task = benchmarks.benchmark("rte")
    sizes = {s: len(data.read(task, s)) for s in ("train", "dev", "test")}
    assert sizes == {"train": 8, "dev": 2, "test": 2}
    assert data.is_sample
    warnings = [
        r.getMessage() for r in caplog.records if r.levelname == "WARNING"
    ]
    assert len(warnings) == 1
    assert "no DATA_DIR is given" in warnings[0]
    (folder,) = cache.iterdir()
    assert str(folder) in warnings[0]
    manifest = folder / "sample_benchmarks.json"
    before = manifest.stat().st_mtime_ns
    again = of()
    assert again.read(task, "dev") == data.read(task, "dev")
    assert manifest.stat().st_mtime_ns == before
    assert [each.name for each in cache.iterdir()] == [folder.name]


def test_other_samples_lie_in_other_folders(cache):
    task = benchmarks.benchmark("cola")
    found = [
        of(**changes).read(task, "dev")
        for changes in (
            {},
            {"sample_seed": 1},
            {"sample_examples": 12},
        )
    ]
    assert len(list(cache.iterdir())) == 3
    assert [len(each) for each in found] == [2, 2, 3]
    assert found[0] != found[1]


def test_split_without_examples(tmp_path):
    folder = tiny_task.write_cola(
        tmp_path / "data", sizes={"train": 2, "dev": 0, "test": 0}
    )
    (folder / "glue" / "CoLA" / "dev.tsv").write_text("")
    with pytest.raises(errors.InputError, match=str(folder)):
        of(folder).read(benchmarks.benchmark("cola"), "dev")


def test_empty_list_of_a_reader_is_an_error(tmp_path):
    class Nothing:
        name = "mine"

        def read(self, data_dir, split):
            return []

    expected = f"^mine: there are no dev examples in {tmp_path}$"
    with pytest.raises(errors.InputError, match=expected):
        of(tmp_path).read(Nothing(), "dev")


def test_missing_file(tmp_path):
    with pytest.raises(errors.InputError, match="CoLA/dev.tsv does not exist"):
        of(tmp_path).read(benchmarks.benchmark("cola"), "dev")


def test_too_small_a_sample(cache):
    with pytest.raises(errors.InputError, match="too few"):
        of(sample_examples=4).read(benchmarks.benchmark("cola"), "dev")
    assert not cache.exists() or not any(cache.iterdir())
