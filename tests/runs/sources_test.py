import dataclasses

import pytest

from gpt1_keras import errors
from gpt1_keras.data import prepare
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_task


def warning(caplog):
    (record,) = (r for r in caplog.records if r.levelname == "WARNING")
    return record.getMessage()


def test_sample_corpus_where_none_is_given(cache, caplog):
    corpus = sources.Corpus(
        **{"corpus": None, "vocabulary": None, "merges": None},
        **{"tokenizer_type": "bpe", "vocabulary_size": 150},
        **{"held_out_fraction": 0.34, "sample_words": 4000},
    )
    shards, tokenizer = corpus.open()
    assert "no corpus is given" in warning(caplog)
    assert shards.split("train").words.sum() > 2000
    assert tokenizer.vocabulary_size > 50
    named = {"held_out_books": ("b", "a"), "split_seed": 7}
    found = dataclasses.replace(corpus, **named).recipe()
    assert found == prepare.Recipe(None, "bpe", 150, 0.34, 7, ("b", "a"))


def files(data_dir=None, **changes):
    settings = {"sample_examples": 8} | changes
    return sources.BenchmarkFiles(data_dir=data_dir, **settings)


def test_official_files_of_the_last_task_are_kept(tmp_path, cache):
    data = files(str(tiny_task.write_cola(tmp_path / "data")))
    cola = benchmarks.benchmark("cola")
    kept = {split: data.read(cola, split) for split in tiny_task.SIZES}
    for split, size in tiny_task.SIZES.items():
        assert len(kept[split]) == size
        assert data.read(cola, split) is kept[split]
    with pytest.raises(errors.InputError):
        data.read(benchmarks.benchmark("rte"), "dev")
    again = data.read(cola, "dev")
    assert again == kept["dev"] and again is not kept["dev"]
    assert not cache.exists()


def test_sample_files_are_written_once(cache, caplog):
    data = files()
    assert not cache.exists()  # Nothing is written before it is asked for.
    task = benchmarks.benchmark("rte")
    splits = ("train", "dev", "test")
    assert [len(data.read(task, split)) for split in splits] == [8, 2, 2]
    message = warning(caplog)
    (folder,) = cache.glob("[!.]*")
    assert "no benchmark files are given" in message and str(folder) in message
    manifest = folder / "sample_benchmarks.json"
    before = manifest.stat().st_mtime_ns
    dev = data.read(task, "dev")
    assert files().read(task, "dev") == dev
    assert manifest.stat().st_mtime_ns == before
    # Other samples are in other folders.
    assert len(files(sample_examples=12).read(task, "dev")) == 3
    assert files(sample_seed=1).read(task, "dev") != dev
    assert len(list(cache.glob("[!.]*"))) == 3
