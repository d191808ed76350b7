"""Data sources of the runs: books with a tokenizer, and benchmark files."""

import functools
import typing

import keras
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.data import prepare
from gpt1_keras.data import split
from gpt1_keras.sample_world import benchmarks
from gpt1_keras.sample_world import corpus as sample_world
from gpt1_keras.sample_world import generated_folder
from gpt1_keras.text import tokenizer as tokenizer_lib


@checks.value_object
class Corpus:
    """Books and the tokenizer that reads them."""

    # Prepared shards or a folder of `.txt` files; None: the sample corpus.
    corpus: checks.Path | None
    # None: that of the prepared shards, or one trained on the training books.
    vocabulary: checks.Path | None
    merges: checks.Path | None  # for BPE
    # Type and size of a vocabulary to be trained, if none is given.
    tokenizer_type: typing.Literal["bpe", "wordpiece"]
    vocabulary_size: checks.Count
    held_out_fraction: checks.Rate  # share of the books
    split_seed: checks.Seed = 0  # selects the held-out books
    # Books to hold out instead of a share, by their paths in the corpus folder,
    # or a file with one path per line.
    held_out_books: tuple[str, ...] | checks.Path | None = None
    sample_words: checks.Count = 2_100_000  # words of the sample corpus
    sample_seed: checks.Seed = 0

    def open(self, tokenizer=None):
        """Return (`Shards`, `Tokenizer`); books are prepared on first use.

        With a `tokenizer`, such as a preset's, no vocabulary is trained.
        """
        recipe = self.recipe(tokenizer)
        return prepare.open_corpus(self.folder, recipe)

    def recipe(self, tokenizer=None):
        """Return the `prepare.Recipe`; `tokenizer` as in `open`."""
        if self.vocabulary is not None:
            if tokenizer is not None:
                raise errors.InputError(
                    f"`vocabulary` is {self.vocabulary}, but the preset has"
                    " its own: leave it out"
                )
            tokenizer = tokenizer_lib.Tokenizer.from_files(
                self.vocabulary, self.merges
            )
        elif self.merges is not None:
            raise errors.InputError(
                f"`merges` is {self.merges}, but `vocabulary` is not given:"
                " give both files or neither"
            )
        return prepare.Recipe(
            tokenizer=tokenizer,
            tokenizer_type=self.tokenizer_type,
            vocabulary_size=self.vocabulary_size,
            held_out_fraction=self.held_out_fraction,
            split_seed=self.split_seed,
            held_out_books=split.read_names(self.held_out_books),
        )

    @functools.cached_property
    def folder(self):
        """The folder of the books; sample books are written on first use."""
        if self.corpus is not None:
            return self.corpus
        words, seed = self.sample_words, self.sample_seed
        folder = _sample_folder("sample", words, seed)
        logging.warning(
            "no corpus is given: using the generated sample corpus"
            f" {folder}; give a folder of .txt books to train on them"
        )
        sample_world.write_corpus(folder, words=words, seed=seed)
        return folder


@checks.value_object
class RawText:
    """Books that are tokenised in tf.data during training."""

    corpus: Corpus
    pool_books: checks.Count  # books whose windows are shuffled together

    def open(self, tokenizer=None):
        """Return (`RawCorpus`, `Tokenizer`); `tokenizer` as in `Corpus`."""
        check_tensorflow(
            "gin/data/raw_text.gin", "leave it out to read prepared shards"
        )
        from gpt1_keras.data import tf_raw_text

        recipe, folder = self.corpus.recipe(tokenizer), self.corpus.folder
        return tf_raw_text.open_raw(folder, recipe, pool_books=self.pool_books)


@checks.value_object
class BenchmarkFiles:
    """The folder of benchmark files."""

    # None: the generated sample benchmarks, written on first use.
    data_dir: checks.Location[checks.Path | None]
    # Training examples of each sample benchmark; dev and test have a quarter.
    sample_examples: checks.Count = 1000
    sample_seed: checks.Seed = 0

    def read(self, task, split):
        """Return the examples of a split of a task; without any, InputError.

        The examples of the task read last are cached, for its further runs.
        """
        if task.name not in self._cached:
            self._cached.clear()
        found = self._cached.setdefault(task.name, {})
        if split not in found:
            found[split] = task.read(self.folder, split)
        if not found[split]:
            raise errors.InputError(
                f"{task.name}: there are no {split} examples in {self.folder}"
            )
        return found[split]

    @functools.cached_property
    def _cached(self):
        """{task read last: {split: examples}}."""
        return {}

    @functools.cached_property
    def folder(self):
        """The folder of the files; sample files are written on first use."""
        if self.data_dir is not None:
            return self.data_dir
        size, seed = self.sample_examples, self.sample_seed
        folder = _sample_folder("sample_benchmarks", size, seed)
        logging.warning(
            "no benchmark files are given: using the generated sample"
            f" benchmarks {folder}; give the folder of the official files"
        )
        benchmarks.write_benchmarks(
            folder,
            num_train=size,
            num_dev=size // 4,
            num_test=size // 4,
            seed=seed,
        )
        return folder


def check_tensorflow(what, advice):
    """Refuse `what` on another backend than TensorFlow."""
    backend = keras.config.backend()
    if backend != "tensorflow":
        raise errors.InputError(
            f"{what} needs KERAS_BACKEND=tensorflow, not {backend}; {advice}"
        )


def _sample_folder(name, size, seed):
    """Return the cache folder for data that this version generates."""
    version = generated_folder.source_sha256()[:8]
    return files.cache_root() / f"{name}_{size}_{seed}_{version}"
