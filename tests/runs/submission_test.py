import csv
import io
import json
import zipfile

import pytest

from gpt1_keras import errors
from gpt1_keras.evaluation import glue_submission
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.runs import submission
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

NUM_TEST = 3
THERE = ("cola", "stsb", "mnli")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Below it `suite/` with three finished runs, and the cache."""
    folder = tmp_path_factory.mktemp("submission")
    preset = tiny_task.write_preset(folder / "pretrained")
    for name in THERE:
        workdir = folder / "suite" / name
        tiny_fine_tuned.write(workdir, benchmarks.benchmark(name), preset)
        (workdir / "result.json").write_text(json.dumps({"task": name}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPT1_KERAS_CACHE", str(folder / "cache"))
        yield folder


def settings(folder):
    return {
        "RUNS": str(folder / "suite"),
        "SAMPLE_EXAMPLES": 4 * NUM_TEST,
        "presets.Scoring.bucket_lengths": (32,),
    }


@pytest.fixture(scope="module")
def written(folder):
    """The workdir of a submission; tests do not change it."""
    workdir = folder / "written"
    status, output = tiny_fine_tuned.call_main(
        "gin/submission.gin",
        workdir,
        **settings(folder),
    )
    assert status == 0, output
    return workdir


def sample():
    return sources.BenchmarkFiles(
        data_dir=None, sample_examples=4 * NUM_TEST, sample_seed=0
    )


def tables(workdir):
    """`{name in the zip: list of predictions}`."""
    path = workdir / "submission" / "glue_submission.zip"
    with zipfile.ZipFile(path) as archive:
        found = {}
        for name in archive.namelist():
            text = io.StringIO(archive.read(name).decode("utf-8"))
            rows = list(csv.DictReader(text, delimiter="\t"))
            assert [row["index"] for row in rows] == [
                str(i) for i in range(len(rows))
            ]
            found[name] = [row["prediction"] for row in rows]
    return found


def test_predictions_of_the_models(folder, written):
    found = tables(written)
    task = benchmarks.benchmark("mnli")
    model = presets.FineTuned(
        folder / "suite" / "mnli",
        presets.Scoring(batch_size=1, bucket_lengths=(32,), dtype="float32"),
    )
    examples = sample().read(task, "test")
    logits = model.logits(model.labelled(task, examples, "test"))
    labels = [task.label_space.class_names[i] for i in logits.argmax(-1)]
    groups = [example.group for example in examples]
    assert groups == ["matched"] * NUM_TEST + ["mismatched"] * NUM_TEST
    assert found["MNLI-m.tsv"] == labels[:NUM_TEST]
    assert found["MNLI-mm.tsv"] == labels[NUM_TEST:]
    assert len(found["CoLA.tsv"]) == NUM_TEST
    assert len(found["AX.tsv"]) == NUM_TEST
    assert set(found["AX.tsv"]) <= {"entailment", "neutral", "contradiction"}
    scores = [float(score) for score in found["STS-B.tsv"]]
    assert len(scores) == NUM_TEST and len(set(scores)) > 1
    assert all(0.0 <= score <= 5.0 for score in scores)


def test_tasks_without_a_model_and_the_result(written):
    found = tables(written)
    assert len(found) == 11
    for name in ("SST-2", "MRPC", "QQP", "QNLI", "RTE", "WNLI"):
        assert len(set(found[f"{name}.tsv"])) == 1
    assert len(found["RTE.tsv"]) == 3000  # The official test file.
    result = json.loads((written / "result.json").read_text())
    assert result["filled"] == ["sst2", "mrpc", "qqp", "qnli", "rte", "wnli"]
    names = ("run", "task", "split", "metrics", "paper")
    assert [result[name] for name in names] == [
        *("submission", "glue", "test"),
        *({}, {}),
    ]
    # CoLA, STS-B, both test sets of MNLI and the diagnostic set.
    assert result["num_examples"] == 5 * NUM_TEST


def test_the_server_s_checks_pass(written):
    path = written / "submission" / glue_submission.ZIP_NAME
    num_rows = {
        name: NUM_TEST
        for name in ("cola", "stsb", "mnli_matched", "mnli_mismatched", "ax")
    }
    assert glue_submission.check(path, num_rows=num_rows) == []
    # But not for sample data in place of the official files.
    assert glue_submission.check(path) != []


def test_finished_submission_is_not_written_again(folder, written):
    before = tiny_fine_tuned.contents(written)
    status, _ = tiny_fine_tuned.call_main(
        "gin/submission.gin",
        written,
        **settings(folder),
    )
    assert status == 0
    assert tiny_fine_tuned.contents(written) == before


def run(folder, workdir, names, data=None):
    """Run on a folder in which a task (name) has the model of another."""
    runs = workdir.parent / "suite"
    runs.mkdir()
    (runs / "rte").mkdir()  # a run that is not finished
    for name, model in names.items():
        (runs / name).symlink_to(folder / "suite" / model)
    return submission.submission(
        workdir=workdir,
        config_sha256="a" * 64,
        runs=runs,
        data=data or sample(),
        scoring=presets.Scoring(
            batch_size=2, bucket_lengths=(32,), dtype="float32"
        ),
    )


def test_no_runs(folder, tmp_path):
    with pytest.raises(errors.InputError, match="has no finished GLUE run"):
        run(folder, tmp_path / "out", {})
    assert not (tmp_path / "out").exists()


def test_unfinished_runs_are_left_out(folder, tmp_path, caplog):
    run(folder, tmp_path / "out", {"cola": "cola"})
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert "rte" in result["filled"] and "cola" not in result["filled"]
    filled = ", ".join(result["filled"])
    assert f"no model or no test file for {filled}: their" in caplog.text


def test_model_of_another_task(folder, tmp_path):
    """CoLA and SST-2 have the same labels and the same kind of text."""
    with pytest.raises(errors.InputError, match="holds a model of cola"):
        run(folder, tmp_path / "out", {"sst2": "cola"})


def test_official_test_files_must_be_whole(folder, tmp_path):
    data = sources.BenchmarkFiles(
        data_dir=tiny_task.write_cola(tmp_path / "data"),
        sample_examples=4 * NUM_TEST,
        sample_seed=0,
    )
    with pytest.raises(errors.InputError, match="10 rows, .* has 1063"):
        run(folder, tmp_path / "out", {"cola": "cola"}, data)
    assert not list((tmp_path / "out").rglob("*.zip"))
