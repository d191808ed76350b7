"""Books, benchmark files and examples, made once for all tests."""

import pytest

from gpt1_keras.sample_world import benchmarks
from gpt1_keras.sample_world import corpus


@pytest.fixture(scope="session")
def books(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "books"
    paths = corpus.write_corpus(folder, words=40_000, seed=3)
    return [path.read_text(encoding="utf-8") for path in paths]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "data"
    benchmarks.write_benchmarks(folder, num_train=120, num_dev=24, num_test=12)
    return folder
