import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering as qa
from gpt1_keras.data.readers import rows
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib
from tests.reference import data_files
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

THREE = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
BINARY = ("0", "1")


# Name: transform, class names, paper's metric, labels of two rows, their values.
@pytest.mark.parametrize(
    "name, transform, names, metric, labels, values",
    [
        ("snli", transforms.entailment, THREE, "accuracy", ["neutral", "entailment"], [1, 0]),
        ("mnli", transforms.entailment, THREE, "accuracy", ["neutral", "entailment"], [1, 0]),
        ("ax", transforms.entailment, THREE, "accuracy", ["neutral", "entailment"], [1, 0]),
        ("qnli", transforms.entailment, TWO, "accuracy", ["not_entailment", "entailment"], [1, 0]),
        ("rte", transforms.entailment, TWO, "accuracy", ["not_entailment", "entailment"], [1, 0]),
        ("scitail", transforms.entailment, ("entails", "neutral"), "accuracy", ["neutral", "entails"], [1, 0]),
        ("wnli", transforms.entailment, BINARY, "accuracy", ["1", "0"], [1, 0]),
        ("cola", transforms.classification, BINARY, "matthews", ["1", "0"], [1, 0]),
        ("sst2", transforms.classification, BINARY, "accuracy", ["1", "0"], [1, 0]),
        ("mrpc", transforms.similarity, BINARY, "f1", ["1", "0"], [1, 0]),
        ("qqp", transforms.similarity, BINARY, "f1", ["1", "0"], [1, 0]),
        ("stsb", transforms.similarity, (), "pearson", [4.5, 0.5], [4.5, 0.5]),
        ("race", transforms.multiple_choice, (), "accuracy", [1, 3], [1, 3]),
        ("story_cloze", transforms.multiple_choice, (), "accuracy", [1, 0], [1, 0]),
    ],
)  # fmt: skip
def test_table(name, transform, names, metric, labels, values):
    found = benchmarks.benchmark(name)
    assert found.name == name and found.transform is transform
    public = ("snli", "scitail", "race", "story_cloze")
    assert found.has_labelled_test == (name in public)
    readers = (getattr(m, f"read_{name}", None) for m in (glue, nli, qa))
    assert found.reader in readers
    is_choice = transform is transforms.multiple_choice
    assert found.label_space.build_head is (
        heads.ChoiceHead if is_choice else heads.SumHead
    )
    space = found.label_space
    assert space.class_names == names
    assert space.num_outputs == (len(names) or (1 if is_choice else 6))
    rows_ = [examples.Example("text", label=label) for label in labels]
    assert [space.value(row) for row in rows_] == values
    measured = found.measure(rows_, values)
    assert next(iter(measured)) == metric
    assert list(measured.values()) == pytest.approx([1.0] * len(measured))


def test_stsb_by_regression():
    spaces = {True: task_lib.Score, False: task_lib.ScoreDistribution}
    for regression, space in spaces.items():
        found = benchmarks.benchmark("stsb", regression=regression).label_space
        assert type(found) is space and found.score_range == [0, 5]
    assert benchmarks.benchmark("cola", regression=True).name == "cola"


# Adding a benchmark, in the two steps of WORKSPACE.md. First, its reader:
def read_weather(data_dir, split):
    """Read `DATA_DIR/weather/{split}.tsv`: a text and "wet" or "dry"."""
    path = rows.find_file(data_dir, ["weather"], f"{split}.tsv")

    def parse(row):
        text, label = row
        return examples.Example(text, label=rows.label_of(label, WEATHER))

    return rows.collect(path, rows.tab_separated(path), parse)


WEATHER = ("dry", "wet")


def test_a_benchmark_is_added_in_two_steps(tmp_path, monkeypatch):
    # Second, its row:
    row = task_lib.Task(
        "weather",
        read_weather,
        transforms.classification,
        task_lib.Classes(WEATHER),
        metrics.accuracy,
        row_counts=(4, 2, 0),
    )
    monkeypatch.setitem(benchmarks.BENCHMARKS, row.name, row)
    data_files.write(tmp_path, "weather/dev.tsv", "it rains\twet\nsun\tdry\n")
    task = benchmarks.benchmark("weather")
    assert [e.label for e in task.read(tmp_path, "dev")] == ["wet", "dry"]
    with pytest.raises(errors.InputError, match="only train.* or the task"):
        task.read(tmp_path, "test")
    network = tiny_fine_tuned.write(
        tmp_path / "run", task, tiny_task.write_preset(tmp_path / "preset")
    )
    assert benchmarks.of_preset(network.preprocessor) is row
