import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from gpt1_keras import errors
from gpt1_keras.runs import export
from gpt1_keras.tasks import benchmarks
from gpt1_keras.text import tokenizer
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_serving_options
from tests.reference import tiny_task

WORDS = tokenizer.Tokenizer(["<unk>", "a</w>", "\n</w>"], [])


def write_cola(folder, texts):
    folder = folder / "glue" / "CoLA"
    folder.mkdir(parents=True)
    lines = [f"x\t1\t\t{text}\n" for text in texts]
    (folder / "train.tsv").write_text("".join(lines))


@pytest.mark.parametrize("limit, num_known", [(0, 3), (1, 4), (9, 5)])
def test_table_has_the_frequent_pieces_of_a_split(tmp_path, limit, num_known):
    """Besides a, A and A, the words of the vocabulary."""
    write_cola(tmp_path, ["xx yy xx", "xx a"])
    options = tiny_serving_options.of(
        tmp_path, table_split="train", num_table_pieces=limit
    )
    rows = options.table_rows(benchmarks.benchmark("cola"))
    graph = options.graph_tokenizer(WORDS, rows)
    assert graph.num_known == num_known - 1
    assert graph(tf.constant(["xx a"])).to_list() == [WORDS.encode("xx a")]


def test_table_of_a_file_goes_before_a_split(tmp_path):
    write_cola(tmp_path, ["xx"])
    asked = []

    def build_task(preprocessor, file=None):
        asked.append((preprocessor, file))
        return dataclasses.replace(
            benchmarks.benchmark("cola"),
            read=lambda data_dir, split: [f"{split} of {file}"],
        )

    options = tiny_serving_options.of(
        tmp_path,
        table_split="train",
        table_file="own.tsv",
        build_task=build_task,
    )
    task = benchmarks.benchmark("cola")
    assert options.table_rows(task, "preset's") == ["train of own.tsv"]
    assert asked == [("preset's", "own.tsv")]
    assert [row.text for row in options.table_rows(task)] == ["xx"]


def test_rounded_weights(tmp_path):
    tiny_task.write_preset(tmp_path / "preset")
    model = tiny_fine_tuned.write(
        tmp_path / "cola", benchmarks.benchmark("cola"), tmp_path / "preset"
    )
    before = [np.array(variable) for variable in model.weights]
    export.round_weights(model, "float32")
    for variable, value in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    export.round_weights(model, "float16")
    num_changed = 0
    for variable, value in zip(model.weights, before, strict=True):
        if value.dtype == "float32":
            rounded = value.astype("float16").astype("float32")
            np.testing.assert_array_equal(variable, rounded)
            num_changed += (rounded != value).sum()
    assert num_changed


def test_unknown_dtype():
    with pytest.raises(errors.InputError, match="'float64': give 'float32'"):
        tiny_serving_options.of("data", weights_dtype="float64")
