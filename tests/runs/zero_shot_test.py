import collections
import random
import types

import numpy as np
import pytest
import sklearn.metrics

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.data.readers import glue
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import zero_shot
from gpt1_keras.tasks import zero_shot as zero_shot_lib
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs
from tests.reference import tiny_task


def scoring(**changes):
    settings = {"batch_size": 4, "bucket_lengths": (8,), "softmax_chunk": 8}
    return zero_shot.Scoring(**settings | changes)


def make(*names, num_examples=2, num_rows=5, **changes):
    """Return tasks whose rows are half middle, half high; and what is read."""
    read = []

    def read_data(task, split):
        read.append((task.name, split))
        groups = ["middle"] * (num_rows // 2) + ["high"] * num_rows
        return [
            examples.Example(str(i), group=groups[i]) for i in range(num_rows)
        ]

    tasks = [
        types.SimpleNamespace(name=n, split="dev", needs_train=n == "cola")
        for n in names
    ]
    made = zero_shot.ZeroShotTasks(
        tasks=tasks,
        data=types.SimpleNamespace(read=read_data),
        scoring=scoring(num_examples=num_examples),
        **changes,
    )
    return made, read


@pytest.mark.parametrize(
    "first_step, num_steps, expected",
    [
        (1, 10, {1, 2, 4, 8, 10}),
        (64, 300, {64, 128, 256, 300}),
        (64, 64, {64}),
        (64, 10, {10}),
    ],
)
def test_steps(first_step, num_steps, expected):
    made, _ = make("sst2", first_step=first_step)
    assert made.steps(num_steps) == expected
    assert make()[0].steps(num_steps) == set()


def test_files_are_read_once():
    made, read = make("sst2", "cola")
    made.read()
    assert read == [("sst2", "dev"), ("cola", "dev"), ("cola", "train")]
    made.examples(made.tasks[0], "dev")
    assert len(read) == 3
    made, read = make("sst2", split="test")
    made.read()
    assert read == [("sst2", "test")]


def test_examples_are_drawn_from_all_groups_in_the_order_of_the_file():
    """RACE's readers return all middle questions first."""
    made, _ = make("cola", num_examples=40, num_rows=400)
    for split in ("dev", "train"):
        found = made.examples(made.tasks[0], split)
        groups = collections.Counter(e.group for e in found)
        assert len(found) == 40 and min(groups["middle"], groups["high"]) > 5
        rows = [int(e.text) for e in found]
        assert rows == sorted(set(rows))
    again, _ = make("cola", num_examples=40, num_rows=400)
    assert again.examples(again.tasks[0], "train") == found
    for count, expected in ((None, 5), (3, 3), (9, 5)):
        made, _ = make("sst2", num_examples=count)
        assert len(made.examples(made.tasks[0], "dev")) == expected


def test_truncated_texts_are_logged(monkeypatch, caplog):
    made, _ = make("sst2", num_examples=None)

    def candidates(example, *, tokenizer, max_sequence_length):
        num_cut = max(0, int(example.text) - max_sequence_length)
        return packing.Candidates([1], (packing.Continuation([2]),), num_cut)

    made.tasks[0].candidates = candidates
    monkeypatch.setattr(zero_shot, "_Scorer", lambda *_, **__: None)
    for positions in (2, 4):
        backbone = types.SimpleNamespace(max_sequence_length=positions)
        made.measurer(made.tasks[0], backbone, tokenizer=None)
    assert [record.getMessage() for record in caplog.records] == [
        "sst2 dev: the beginnings of 2 of 5 texts were truncated to fit into"
        " 2 positions, 3 tokens in all"
    ]


def run(tiny, workdir, task, data=None, **changes):
    """Measure a task on the tiny preset; return the metrics."""
    found = tiny_runs.zero_shot(
        *(workdir, tiny.folder / "pretrained", data or tiny.data),
        task=task,
        **changes,
    )
    return found["metrics"]


def average_log_probability(model, text):
    """By the logits of the whole model, one sentence at a time."""
    preprocessor, model.preprocessor = model.preprocessor, None
    ids = np.array(preprocessor.tokenizer.tokenize(text))
    logits = model.predict(small_models.inputs(ids[None]), verbose=0)
    model.preprocessor = preprocessor
    logits = logits[0].astype("f8")
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.mean([log_p[t - 1, ids[t]] for t in range(1, len(ids))])


def test_cola_through_main(tiny, tmp_path):
    status, errors = tiny_fine_tuned.call_main(
        "gin/zero_shot/cola.gin",
        tmp_path,
        PRESET=str(tiny.folder / "pretrained"),
        DATA_DIR=str(tiny.data),
    )
    assert status == 0, errors
    found = results.read(tmp_path)
    assert (found["run"], found["task"]) == ("zero_shot", "cola")
    assert (found["split"], found["num_examples"]) == ("dev", 40)
    model = causal_lm.GPT1CausalLM.from_preset(str(tiny.folder / "pretrained"))
    rows = glue.read_cola(tiny.data, "dev")
    scores = [average_log_probability(model, row.text) for row in rows]
    labels = [int(row.label) for row in rows]
    assert found["metrics"]["auc"] == pytest.approx(
        sklearn.metrics.roc_auc_score(labels, scores)
    )
    predicted = np.array(scores) > found["metrics"]["threshold"]
    assert found["metrics"]["matthews"] == pytest.approx(
        sklearn.metrics.matthews_corrcoef(labels, predicted), abs=1e-6
    )


def test_how_it_is_computed_changes_little_or_nothing(tiny, tmp_path):
    """Batches and buckets nothing; bfloat16 a little."""
    task = "cola"
    one = run(tiny, tmp_path / "1", task, batch_size=40, bucket_lengths=(32,))
    two = run(tiny, tmp_path / "2", task, batch_size=3, bucket_lengths=(16, 32))
    assert one == pytest.approx(two, abs=1e-4)
    three = run(tiny, tmp_path / "3", task, dtype="mixed_bfloat16")
    assert one["threshold"] != three["threshold"]
    assert one["threshold"] == pytest.approx(three["threshold"], rel=0.02)


def test_label_words_of_sst2(tiny, tmp_path):
    draws = random.Random(2)
    folder = tmp_path / "glue" / "SST-2"
    folder.mkdir(parents=True)
    rows = [tiny_task.sentence(draws) for _ in range(40)]
    lines = ["sentence\tlabel", *(f"{text}\t{label}" for text, label in rows)]
    (folder / "dev.tsv").write_text("\n".join(lines) + "\n")
    one, two, three = (
        run(
            tiny,
            tmp_path / str(i),
            zero_shot_lib.task("sst2", words),
            data=tmp_path,
        )["auc"]
        for i, words in enumerate(
            (
                (("negative",), ("positive",)),
                (("harbour",), ("garden", "tree")),
                (("garden", "tree"), ("harbour",)),
            )
        )
    )
    assert abs(one - two) > 0.01
    # Negative and positive swapped: every pair is in the other order.
    assert two == pytest.approx(1 - three) != 0.5


@pytest.mark.parametrize(
    "name, split",
    [("lambada", "dev"), ("dprd", "test")],
)
def test_sample_files_without_data_dir(
    tiny, tmp_path, tmp_path_factory, monkeypatch, name, split
):
    cache = tmp_path_factory.getbasetemp() / "sample_cache"
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(cache))
    status, errors = tiny_fine_tuned.call_main(
        f"gin/zero_shot/{name}.gin",
        tmp_path,
        PRESET=str(tiny.folder / "pretrained"),
        SAMPLE_EXAMPLES=16,
    )
    assert status == 0, errors
    found = results.read(tmp_path)
    assert (found["task"], found["split"]) == (name, split)
    assert found["num_examples"] == 4
    assert 0 <= found["metrics"]["accuracy"] <= 1


def test_mistakes(tiny, tmp_path):
    for task, changes, expected in (
        ("kola", {}, "did you mean 'cola'"),
        ("race", {}, "RACE"),
        ("cola", {"bucket_lengths": (32, 0)}, "bucket_lengths"),
    ):
        with pytest.raises(errors.InputError, match=expected):
            run(tiny, tmp_path, task, data=tmp_path, **changes)
        assert not (tmp_path / "result.json").exists()


def test_during_pretraining(tiny, tmp_path, monkeypatch):
    """Tasks are measured at powers of two and change no weight."""
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))
    books = kill_run.write_books(tmp_path / "books")
    settings = kill_run.SETTINGS | {
        "CORPUS": str(books),
        "NUM_STEPS": 6,
        "fit.Intervals.sample_steps": 0,
    }
    files = ("gin/pretrain.gin", "gin/model/tiny.gin")
    plain, measured = tmp_path / "plain", tmp_path / "measured"
    for workdir, more_files, more in (
        (plain, (), {}),
        (
            measured,
            ("gin/zero_shot/while_pretraining.gin",),
            {
                "ZERO_SHOT_TASKS": ("cola",),
                "zero_shot.ZeroShotTasks.first_step": 2,
                "DATA_DIR": str(tiny.data),
            },
        ),
    ):
        status, errors = tiny_fine_tuned.call_main(
            (*files, *more_files), workdir, **settings | more
        )
        assert status == 0, errors
    lines = [x for x in kill_run.lines(measured) if x.get("split") == "probes"]
    assert [line["step"] for line in lines] == [2, 4, 6]
    assert all(0 <= line["cola_auc"] <= 1 for line in lines)
    ours, theirs = map(kill_run.last_checkpoint, (measured, plain))
    assert ours[0] == theirs[0] == 6
    for key, value in ours[1].items():
        np.testing.assert_array_equal(value, theirs[1][key], err_msg=key)
