import json

import numpy as np
import pytest

from gpt1_keras.data import examples
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import rows
from gpt1_keras.evaluation import metrics
from gpt1_keras.evaluation import scoring
from gpt1_keras.layers import heads
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib
from gpt1_keras.training import learner as learner_lib
from tests.reference import data_files
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

THREE = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
BINARY = ("0", "1")


def tsv(*lines):
    return "".join("\t".join(line.split("|")) + "\n" for line in lines)


RACE = {
    "article": "ab",
    "questions": ["c?", "d"],
    "options": [["e", "fg", "h", "i"], ["j", "k", "l", "m"]],
    "answers": ["B", "D"],
}
CLOZE = "InputSentence1,InputSentence2,InputSentence3,InputSentence4,RandomFifthSentenceQuiz1,RandomFifthSentenceQuiz2,AnswerRightEnding\nA.,B.,C.,D.,No.,Yes.,2\nA.,B.,C.,D.,No.,Yes.,1\n"
SNLI = "".join(
    json.dumps({"gold_label": label, "sentence1": "P.", "sentence2": "H."})
    + "\n"
    for label in ("neutral", "entailment")
)
PAIR = "index|sentence1|sentence2"


# Name: file, its two rows, transform, class names, paper's metric.
@pytest.mark.parametrize(
    "name, file, content, transform, names, metric, labels",
    [
        ("snli", "snli/snli_1.0_test.jsonl", SNLI, transforms.entailment, THREE, "accuracy", [1, 0]),
        ("mnli", "glue/MNLI/dev_matched.tsv", tsv(f"{PAIR}|gold_label", "0|P.|H.|neutral", "1|P.|H.|entailment"), transforms.entailment, THREE, "accuracy", [1, 0]),
        ("qnli", "glue/QNLI/dev.tsv", tsv("question|sentence|label", "P.|H.|not_entailment", "P.|H.|entailment"), transforms.entailment, TWO, "accuracy", [1, 0]),
        ("rte", "glue/RTE/dev.tsv", tsv(f"{PAIR}|label", "0|P.|H.|not_entailment", "1|P.|H.|entailment"), transforms.entailment, TWO, "accuracy", [1, 0]),
        ("scitail", "scitail/scitail_1.0_dev.tsv", tsv("P.|H.|neutral", "P.|H.|entails"), transforms.entailment, ("entails", "neutral"), "accuracy", [1, 0]),
        ("wnli", "glue/WNLI/dev.tsv", tsv(f"{PAIR}|label", "0|P.|H.|1", "1|P.|H.|0"), transforms.entailment, BINARY, "accuracy", [1, 0]),
        ("cola", "CoLA/dev.tsv", tsv("x|1||It rains.", "x|0||It it."), transforms.classification, BINARY, "matthews", [1, 0]),
        ("sst2", "SST-2/dev.tsv", tsv("sentence|label", "Good.|1", "Bad.|0"), transforms.classification, BINARY, "accuracy", [1, 0]),
        ("mrpc", "MRPC/dev.tsv", tsv("Quality|#1 String|#2 String", "1|A.|B.", "0|C.|D."), transforms.similarity, BINARY, "f1", [1, 0]),
        ("qqp", "QQP/dev.tsv", tsv("question1|question2|is_duplicate", "A.|B.|1", "C.|D.|0"), transforms.similarity, BINARY, "f1", [1, 0]),
        ("stsb", "STS-B/dev.tsv", tsv("sentence1|sentence2|score", "A.|B.|4.5", "C.|D.|0.5"), transforms.similarity, (), "pearson", [4.5, 0.5]),
        ("race", "RACE/dev/middle/1.txt", json.dumps(RACE), transforms.multiple_choice, (), "accuracy", [1, 3]),
        ("story_cloze", "story_cloze/cloze_test_test__spring2016 - cloze_test_ALL_test.csv", CLOZE, transforms.multiple_choice, (), "accuracy", [1, 0]),
        ("ax", "glue/diagnostic/diagnostic.tsv", tsv(f"{PAIR}", "0|P.|H.", "0|P.|H."), transforms.entailment, THREE, "accuracy", None),
    ],
)  # fmt: skip
def test_from_file_to_metrics(
    tmp_path, name, file, content, transform, names, metric, labels
):
    data_files.write(tmp_path, file, content)
    found = benchmarks.benchmark(name)
    assert found.name == name and found.transform is transform
    is_choice = transform is transforms.multiple_choice
    assert found.label_space.build_head is (
        heads.ChoiceHead if is_choice else heads.SumHead
    )
    space = found.label_space
    assert space.class_names == names
    assert space.num_outputs == (len(names) or (1 if is_choice else 6))
    split = "test" if "test" in file or name == "ax" else "dev"
    examples_ = found.read(tmp_path, split)
    if labels is None:
        assert [row.label for row in examples_] == [None, None]
        return
    assert [space.value(row) for row in examples_] == labels
    measured = found.measure(examples_, labels)
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
    path = rows.find_file(data_dir, [f"weather/{split}.tsv"])

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
    found = task.read(tmp_path, "dev")
    network = tiny_fine_tuned.write(
        tmp_path / "run", task, tiny_task.write_preset(tmp_path / "preset")
    )
    assert benchmarks.of_preset(network.preprocessor) is row
    assert network.preprocessor.label_words == list(WEATHER)
    labelled = scoring.Labelled(
        *(task, found),
        tokenizer=network.preprocessor.tokenizer.pipeline,
        **{"max_sequence_length": 32, "batch_size": 2, "bucket_lengths": ()},
        name="weather dev",
    )
    logits = labelled.logits(learner_lib.Learner(network))
    expected = np.mean(logits.argmax(axis=-1) == [1, 0])
    assert labelled.measure(logits) == {"accuracy": expected}
    assert labelled.majority() == {"accuracy": 0.5}
