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
from gpt1_keras.text import tokenizer as tokenizer_lib


@checks.value_object
class Corpus:
    """Books and the tokenizer that reads them."""

    # Prepared shards or a folder of `.txt` files; None: the generated sample
    # corpus, written on first use.
    corpus: checks.Path | None
    # None: that of the prepared shards, or one trained on the training books.
    vocabulary: checks.Path | None
    merges: checks.Path | None  # for BPE
    # Type and size of a vocabulary to be trained, if none is given.
    tokenizer_type: typing.Literal["bpe", "wordpiece"]
    vocabulary_size: checks.Count
    held_out_fraction: checks.Rate  # share of the books
    split_seed: checks.Seed = 0  # selects the held-out books
    # Names of the books to hold out instead of a share, or a file with one name
    # per line; names are paths relative to the corpus folder.
    held_out_books: tuple[str, ...] | checks.Path | None = None
    sample_words: checks.Count = 2_100_000  # words of the sample corpus
    sample_seed: checks.Seed = 0

    def open(self, tokenizer=None):
        """Return (`Shards`, `Tokenizer`); books are prepared on first use.

        With a `tokenizer`, such as a preset's, no vocabulary is trained.
        """
        recipe = self.recipe(tokenizer)
        return prepare.open_corpus(self.folder(recipe), recipe)

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

    def folder(self, recipe):
        """Return the folder of the books, or of sample books, written now."""
        if self.corpus:
            return self.corpus
        own = ""
        if recipe.tokenizer is None:
            own = f" and a {self.tokenizer_type} vocabulary trained on it"
        folder = _sample_folder("sample", self.sample_words, self.sample_seed)
        logging.warning(
            "no corpus is given: using the generated sample corpus"
            f" {folder}{own}; give a folder of .txt books to train on them"
        )
        sample_world.write_corpus(
            folder, words=self.sample_words, seed=self.sample_seed
        )
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

        recipe = self.corpus.recipe(tokenizer)
        return tf_raw_text.open_raw(
            self.corpus.folder(recipe), recipe, pool_books=self.pool_books
        )


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
        key = (task.name, split)
        if key not in self._read:
            for other in [k for k in self._read if k[0] != task.name]:
                del self._read[other]
            self._read[key] = task.read(self.folder, split)
        if not self._read[key]:
            raise errors.InputError(
                f"{task.name}: there are no {split} examples in {self.folder}"
            )
        return self._read[key]

    @functools.cached_property
    def _read(self):
        """{(task, split): examples} of the task read last."""
        return {}

    @functools.cached_property
    def folder(self):
        """The folder of the files; sample files are written on first use."""
        if self.data_dir is not None:
            return self.data_dir
        folder = _sample_folder(
            "sample_benchmarks", self.sample_examples, self.sample_seed
        )
        logging.warning(
            "no benchmark files are given: using the generated sample"
            f" benchmarks {folder}; give the folder of the official files to"
            " use them"
        )
        benchmarks.write_benchmarks(
            folder,
            num_train=self.sample_examples,
            num_dev=self.sample_examples // 4,
            num_test=self.sample_examples // 4,
            seed=self.sample_seed,
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
    version = sample_world.source_sha256()[:8]
    return files.cache_root() / f"{name}_{size}_{seed}_{version}"
