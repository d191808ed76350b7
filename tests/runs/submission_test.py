import csv
import io
import zipfile

import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks
from tests.reference import data_files
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs

NUM_TEST = 3


def submit(workdir):
    suite = workdir.parent / "suite"
    settings = {
        "RUNS": str(suite),
        "sources.BenchmarkFiles.sample_examples": 4 * NUM_TEST,
        "presets.Scoring.bucket_lengths": (32,),
    }
    tiny_runs.succeed("gin/submission.gin", workdir, **settings)


@pytest.fixture(scope="module")
def written(tiny, tmp_path_factory):
    """The workdir of a submission, beside `suite/` with three finished runs."""
    folder = tmp_path_factory.mktemp("submission")
    for name in ("cola", "stsb", "mnli"):
        workdir = folder / "suite" / name
        tiny_fine_tuned.write(workdir, name, tiny.folder / "pretrained")
        data_files.write(workdir, "result.json", {"task": name})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPT1_KERAS_CACHE", str(folder / "cache"))
        submit(folder / "written")
        yield folder / "written"


@pytest.fixture(scope="module")
def tables(written):
    """`{name in the zip: list of predictions}`."""
    path = written / "submission" / "glue_submission.zip"
    with zipfile.ZipFile(path) as archive:
        found = {}
        for name in archive.namelist():
            text = io.StringIO(archive.read(name).decode("utf-8"))
            rows = list(csv.DictReader(text, delimiter="\t"))
            assert [int(row["index"]) for row in rows] == [*range(len(rows))]
            found[name] = [row["prediction"] for row in rows]
    return found


def test_predictions_of_the_models(written, tables):
    task = benchmarks.benchmark("mnli")
    preset = written.parent / "suite" / "mnli"
    model = presets.FineTuned(preset)
    data = sources.BenchmarkFiles(data_dir=None, sample_examples=4 * NUM_TEST)
    examples = data.read(task, "test")
    logits = model.logits(model.labelled(task, examples, "test"))
    # Texts are cut as in training, whatever the network's positions.
    model.preprocessor.sequence_length = 9
    assert model.labelled(task, examples, "x").max_sequence_length == 9
    labels = [task.label_space.class_names[i] for i in logits.argmax(-1)]
    groups = [example.group for example in examples]
    assert groups == ["matched"] * NUM_TEST + ["mismatched"] * NUM_TEST
    assert tables["MNLI-m.tsv"] == labels[:NUM_TEST]
    assert tables["MNLI-mm.tsv"] == labels[NUM_TEST:]
    assert len(set(tables["STS-B.tsv"])) > 1


def test_tasks_without_a_model_and_the_result(written, tables):
    assert len(tables) == 11
    for name in ("SST-2", "MRPC", "QQP", "QNLI", "RTE", "WNLI"):
        assert len(set(tables[f"{name}.tsv"])) == 1
    assert len(tables["RTE.tsv"]) == 3000  # The official test file.
    result = results.read(written)
    suite = written.parent / "suite"
    expected = [presets.sha256(suite / x / "preset") for x in ("cola", "stsb")]
    assert result["presets_sha256"][:2] == expected  # others: another zip
    assert result["filled"] == ["sst2", "mrpc", "qqp", "qnli", "rte", "wnli"]
    expected = {"run": "submission", "task": "glue", "split": "test"}
    expected |= {"metrics": {}, "paper": {}}
    # CoLA, STS-B, both test sets of MNLI and the diagnostic set.
    expected["num_examples"] = 5 * NUM_TEST
    assert {name: result[name] for name in expected} == expected
    # It is not written again, unless it is lost.
    before = data_files.contents(written)
    submit(written)
    assert data_files.contents(written) == before
    path = written / "submission" / "glue_submission.zip"
    content = path.read_bytes()
    path.unlink()
    submit(written)
    assert path.read_bytes() == content
    assert len(result["examples_sha256"]) == 4  # others: another zip


def test_a_model_of_another_task(written, tmp_path):
    cola = written.parent / "suite" / "cola"
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "sst2").symlink_to(cola)
    status, said = tiny_runs.call_main(
        "gin/submission.gin", tmp_path / "x", RUNS=str(tmp_path / "runs")
    )
    assert status == 2 and "holds a model of cola" in said
    with pytest.raises(errors.InputError, match="fine-tuned on cola"):
        presets.FineTuned(cola).labelled(benchmarks.benchmark("rte"), [], "dev")
