"""What a zero-shot probe is (paper, section 5)."""

import abc


class Probe(abc.ABC):
    """A task that a language model answers without having learnt it.

    Attributes:
        name: str.
        random: float. What the first metric is by guessing.
        split: str. Where it is measured if nothing else is said.
        needs_train: bool. Whether `measure` wants scored train examples.
    """

    name = ""
    random = 0.0
    split = "dev"
    needs_train = False

    @abc.abstractmethod
    def read(self, data_dir, split):
        """Return the list of Example of a split, "train", "dev" or "test"."""

    @abc.abstractmethod
    def item(self, example, *, tokenizer, max_sequence_length):
        """Return the `data.continuations.Item` of an example.

        Prefix and each continuation together have at most
        `max_sequence_length` ids.
        """

    @abc.abstractmethod
    def measure(self, examples, scores, train=None):
        """Return a dict of metrics; the first is the one that is plotted.

        Args:
            examples: list of `N` Example.
            scores: list of `N` `data.continuations.Scores`.
            train: the same pair for train examples, or None.
        """

    @abc.abstractmethod
    def majority(self, examples):
        """Return the metrics of the best constant guess."""
