"""What all served models have in common."""

import collections.abc
import dataclasses

from absl import logging

from gpt1_keras import errors
from gpt1_keras.runs import benchmark_files
from gpt1_keras.runs import fine_tuned

_DTYPES = ("float32", "float16")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How a model is served and what it is checked on.

    Attributes:
        data: `benchmark_files.BenchmarkFiles`.
        build_task: function of the `GPT1TaskPreprocessor` in the preset,
            returns the `tasks.task.Task` to read and measure.
        split: str. The rows that the served model is checked on.
        table_split: str or None. The rows whose frequent pieces of text go
            into the tokenizer's table.
        table_file: path of such rows where `build_task` takes a `file`; goes
            before `table_split`. None where there is none.
        num_table_pieces: int. How many of them at most.
        scoring: `fine_tuned.Scoring`.
        weights_dtype: str, dtype the weights are stored in.
        identity_texts: path of a `.txt` file or a folder of them, or None.
            The tokenizer is compared on their paragraphs, too.
    """

    data: benchmark_files.BenchmarkFiles
    build_task: collections.abc.Callable
    split: str
    table_split: str | None
    num_table_pieces: int
    scoring: fine_tuned.Scoring
    weights_dtype: str
    table_file: str | None = None
    identity_texts: str | None = None

    def __post_init__(self):
        if self.weights_dtype not in _DTYPES:
            raise errors.InputError(
                f"WEIGHTS_DTYPE is {self.weights_dtype!r}: give "
                f"{' or '.join(map(repr, _DTYPES))}"
            )

    def table_rows(self, task, preprocessor=None):
        """Return the rows whose frequent pieces go into the table.

        Args:
            task: `tasks.task.Task`.
            preprocessor: the `GPT1TaskPreprocessor` of the preset; without
                one `table_file` is not looked at.

        Returns:
            list of Example, perhaps empty.
        """
        if self.table_file is not None and preprocessor is not None:
            own = self.build_task(preprocessor, file=self.table_file)
            return own.read(None, "train")
        if self.table_split is not None:
            return self.data.read(task, self.table_split)
        logging.info("no rows for the table: the words of the vocabulary do")
        return []

    def graph_tokenizer(self, tokenizer, rows):
        """Return the tokenizer as a graph, with the table of some rows.

        Args:
            tokenizer: `text.tokenizer.Tokenizer`.
            rows: list of Example.
        """
        from gpt1_keras.text import tf_tokenizer

        pieces = tf_tokenizer.frequent_pieces(
            (
                text
                for row in rows
                for text in (row.text, row.text_pair, *row.choices)
            ),
            self.num_table_pieces,
        )
        return tf_tokenizer.GraphTokenizer(tokenizer, pieces)


def round_weights(network, dtype):
    """Round the weights of a network to what is stored of them."""
    if dtype == "float32":
        return
    for variable in network.weights:
        value = variable.numpy()
        if value.dtype == "float32":
            variable.assign(value.astype(dtype).astype("float32"))
