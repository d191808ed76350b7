"""Where a run's labelled data come from."""

from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import prepare
from gpt1_keras.data.sample_world import benchmarks


class BenchmarkFiles:
    """The folder of benchmark files.

    Args:
        data_dir: path; None takes the generated sample benchmarks, written
            on first use.
        sample_examples: int. Training examples of each sample benchmark;
            development and test parts have a quarter of it.
        sample_seed: int. Which sample world they are about.
    """

    def __init__(self, *, data_dir, sample_examples, sample_seed):
        self.data_dir = data_dir
        self._is_sample = data_dir is None
        self._task, self._read = None, {}
        self.sample_examples = sample_examples
        self.sample_seed = sample_seed

    @property
    def is_sample(self):
        """Whether the files are generated, not the official ones."""
        return self._is_sample

    def read(self, task, split):
        """Return the examples of one split of a `Task`, not empty.

        Those of the last task are kept, for several runs of it.
        """
        if self.data_dir is None:
            self.data_dir = self._sample()
        if self._task != task.name:
            self._task, self._read = task.name, {}
        if split not in self._read:
            self._read[split] = task.read(self.data_dir, split)
        if not self._read[split]:
            raise errors.InputError(
                f"{task.name}: there are no {split} examples in {self.data_dir}"
            )
        return self._read[split]

    def _sample(self):
        version = benchmarks.source_sha256()[:8]
        folder = prepare.cache_root() / (
            f"sample_benchmarks_{self.sample_examples}_{self.sample_seed}_"
            f"{version}"
        )
        logging.warning(
            "no DATA_DIR is given: using the generated sample benchmarks %s; "
            "--set \"DATA_DIR = 'FOLDER'\" takes the official files",
            folder,
        )
        benchmarks.write_benchmarks(
            folder,
            num_train=self.sample_examples,
            num_dev=self.sample_examples // 4,
            num_test=self.sample_examples // 4,
            seed=self.sample_seed,
        )
        return folder
