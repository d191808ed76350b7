"""What all served models have in common."""

import collections.abc
import dataclasses

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
        num_table_pieces: int. How many of them at most.
        scoring: `fine_tuned.Scoring`.
        weights_dtype: str, dtype the weights are stored in.
    """

    data: benchmark_files.BenchmarkFiles
    build_task: collections.abc.Callable
    split: str
    table_split: str | None
    num_table_pieces: int
    scoring: fine_tuned.Scoring
    weights_dtype: str

    def __post_init__(self):
        if self.weights_dtype not in _DTYPES:
            raise errors.InputError(
                f"WEIGHTS_DTYPE is {self.weights_dtype!r}: give "
                f"{' or '.join(map(repr, _DTYPES))}"
            )

    def graph_tokenizer(self, tokenizer, task):
        """Return the tokenizer as a graph, with the table of a task's texts.

        Args:
            tokenizer: `text.tokenizer.Tokenizer`.
            task: `tasks.task.Task`.
        """
        from gpt1_keras.text import tf_tokenizer

        pieces = []
        if self.table_split is not None:
            rows = self.data.read(task, self.table_split)
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
