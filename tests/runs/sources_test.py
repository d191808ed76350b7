import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks
from tests.reference import kill_run
from tests.reference import tiny_task


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(folder))
    return folder


@pytest.fixture
def make(tmp_path, cache):
    """Return a function: what differs -> `Corpus`."""

    def corpus(**changes):
        settings = {
            "corpus": str(kill_run.write_books(tmp_path / "books")),
            "vocabulary": None,
            "merges": None,
            "tokenizer_type": "bpe",
            "vocabulary_size": 150,
            "held_out_fraction": 0.34,
            "sample_words": 4000,
        }
        return sources.Corpus(**settings | changes)

    return corpus


def vocabulary(tokenizer, folder):
    folder.mkdir()
    tokenizer.save(folder)
    return {
        "vocabulary": str(folder / "vocabulary.json"),
        "merges": str(folder / "merges.txt"),
    }


def test_folder_of_books_is_prepared_once(make, cache, tmp_path):
    shards, tokenizer = make().open()
    assert len(shards.split("train").lengths) == 4
    assert len(shards.split("held_out").lengths) == 2
    assert tokenizer.type == "bpe" and tokenizer.vocabulary_size <= 150
    (cached,) = cache.iterdir()
    before = (cached / "index.json").stat().st_mtime_ns
    _, same = make().open()
    assert same.sha256 == tokenizer.sha256
    assert (cached / "index.json").stat().st_mtime_ns == before
    assert list(cache.iterdir()) == [cached]
    # A given vocabulary is used, one of another corpus too.
    assert make().tokenizer() is None
    given = vocabulary(tokenizer, tmp_path / "vocabulary")
    assert make(**given).tokenizer().sha256 == tokenizer.sha256
    shards, same = make(**given).open()
    assert same.sha256 == shards.tokenizer_sha256 == tokenizer.sha256


def test_other_settings_are_another_corpus(make):
    _, tokenizer = make(tokenizer_type="wordpiece").open()
    assert tokenizer.type == "wordpiece"
    chosen = {
        tuple(make(split_seed=seed).open()[0].split("held_out").names)
        for seed in range(3)
    }
    assert len(chosen) > 1
    named = make(held_out_books=("book_2.txt",)).open()[0]
    assert named.split("held_out").names == ["book_2.txt"]


def test_prepared_books_bring_their_vocabulary(make, tmp_path):
    folder = tmp_path / "prepared"
    prepared = make().prepare(folder)
    shards, tokenizer = make(corpus=str(folder), vocabulary_size=99).open()
    assert tokenizer.sha256 == prepared.tokenizer_sha256
    assert shards.index == prepared.index
    _, other = make(vocabulary_size=100).open()
    given = vocabulary(other, tmp_path / "vocabulary")
    with pytest.raises(errors.InputError, match="prepared"):
        make(corpus=str(folder), **given).open()


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"corpus": "no_such_folder"}, "no_such_folder does not exist"),
        ({"vocabulary": "none.json", "merges": "none.txt"}, "none.json"),
        ({"merges": "none.txt"}, "none.txt, but `vocabulary` is not given"),
    ],
)
def test_mistakes(make, settings, expected):
    with pytest.raises(errors.InputError, match=expected) as caught:
        make(**settings).open()
    assert "\n" not in str(caught.value)


def warning(caplog):
    (message,) = (
        r.getMessage() for r in caplog.records if r.levelname == "WARNING"
    )
    return message


def test_sample_corpus_where_none_is_given(make, caplog):
    shards, tokenizer = make(corpus=None).open()
    message = warning(caplog)
    assert "`corpus` is not given" in message
    assert "bpe vocabulary trained on it" in message
    assert shards.split("train").words.sum() > 2000
    assert tokenizer.vocabulary_size > 50


def test_raw_text(make, monkeypatch):
    """It holds out the books that prepared ones do."""
    raw = sources.RawText(corpus=make(), pool_books=2)
    if keras.config.backend() == "tensorflow":
        opened, tokenizer = raw.open()
        prepared, same = make().open()
        assert tokenizer.sha256 == same.sha256
        names = [sorted(x.split("held_out").names) for x in (opened, prepared)]
        assert names[0] == names[1]
    monkeypatch.setattr(sources.keras.config, "backend", lambda: "jax")
    expected = "needs KERAS_BACKEND=tensorflow, not jax; without this file"
    with pytest.raises(errors.InputError, match=expected):
        raw.open()


def files(data_dir=None, **changes):
    settings = {"sample_examples": 8} | changes
    return sources.BenchmarkFiles(data_dir=data_dir, **settings)


def test_official_files_of_the_last_task_are_kept(tmp_path, cache):
    data = files(str(tiny_task.write_cola(tmp_path / "data")))
    assert not data.is_sample
    cola = benchmarks.benchmark("cola")
    kept = {split: data.read(cola, split) for split in tiny_task.SIZES}
    for split, size in tiny_task.SIZES.items():
        assert len(kept[split]) == size
        assert isinstance(kept[split][0], examples.Example)
        assert data.read(cola, split) is kept[split]
    with pytest.raises(errors.InputError):
        data.read(benchmarks.benchmark("rte"), "dev")
    again = data.read(cola, "dev")
    assert again == kept["dev"] and again is not kept["dev"]
    assert not cache.exists()


def test_sample_files_are_written_once(cache, caplog):
    data = files()
    assert data.is_sample
    assert not cache.exists()  # Nothing is written before it is asked for.
    task = benchmarks.benchmark("rte")
    sizes = {s: len(data.read(task, s)) for s in ("train", "dev", "test")}
    assert sizes == {"train": 8, "dev": 2, "test": 2}
    message = warning(caplog)
    (folder,) = cache.iterdir()
    assert "`data_dir` is not given" in message and str(folder) in message
    manifest = folder / "sample_benchmarks.json"
    before = manifest.stat().st_mtime_ns
    dev = data.read(task, "dev")
    assert files().read(task, "dev") == dev
    assert manifest.stat().st_mtime_ns == before
    # Other samples are in other folders.
    assert len(files(sample_examples=12).read(task, "dev")) == 3
    assert files(sample_seed=1).read(task, "dev") != dev
    assert len(list(cache.iterdir())) == 3
    with pytest.raises(errors.InputError, match="too few"):
        files(sample_examples=4).read(task, "dev")


def test_files_without_examples(tmp_path):
    class Nothing:
        name = "mine"

        def read(self, data_dir, split):
            return []

    expected = f"^mine: there are no dev examples in {tmp_path}$"
    with pytest.raises(errors.InputError, match=expected):
        files(tmp_path).read(Nothing(), "dev")
    with pytest.raises(errors.InputError, match="CoLA/dev.tsv does not exist"):
        files(tmp_path).read(benchmarks.benchmark("cola"), "dev")
