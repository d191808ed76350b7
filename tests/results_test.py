import json
import math

import keras
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing import event_accumulator

from gpt1_keras import errors
from gpt1_keras import results

# Other programs read these.
KEYS = {
    *("run", "task", "split", "metrics", "paper", "num_examples", "seed"),
    *("config_sha256", "git_commit", "backend", "seconds"),
}


def write(workdir, **more):
    return results.write(
        workdir,
        run="pretrain",
        task="language_model",
        split="held_out",
        metrics={"perplexity": 12.5},
        paper={"perplexity": 18.4},
        num_examples=7,
        seed=42,
        config_sha256="abc",
        seconds=1.26,
        **more,
    )


def test_all_keys_other_programs_read(tmp_path):
    assert results.read(tmp_path) is None
    assert write(tmp_path, tokens_seen=math.inf) == tmp_path / "result.json"
    found = json.loads((tmp_path / "result.json").read_text())
    assert found == results.read(tmp_path)
    assert set(found) == KEYS | {"tokens_seen"}
    assert found["metrics"] == {"perplexity": 12.5}
    assert found["tokens_seen"] is None  # JSON has no infinity
    assert list(found)[3] == "metrics"  # before those it is compared with
    assert found["seconds"] == 1.3
    assert found["backend"] == keras.config.backend()
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    for damaged in (b"{", b"\xff"):
        (tmp_path / "result.json").write_bytes(damaged)
        with pytest.raises(errors.InputError, match="remove this file"):
            results.read(tmp_path)


@given(losses=st.lists(st.floats(allow_nan=False)))
def test_lines_come_back_without_a_torn_last_one(tmp_path_factory, losses):
    path = tmp_path_factory.mktemp("lines") / "metrics.jsonl"
    assert results.read_metrics(path) == []
    lines = [{"step": i, "loss": loss} for i, loss in enumerate(losses)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text + '{"step": 7')
    assert results.read_metrics(path) == lines


def test_a_full_disk_is_named(tmp_path):
    history = results.History(tmp_path, step=0)
    history._file.close()
    history._file = open("/dev/full", "a")
    with pytest.raises(OSError) as caught:
        try:
            history.write(1, loss=2.0)
        finally:
            history._file.close()  # fails again, without a name
    history._events.close()
    expected = f"{tmp_path}/metrics.jsonl: No space left on device"
    assert errors.describe_os_error(caught.value) == expected


def test_history_writes_lines_at_once_and_the_same_to_tensorboard(tmp_path):
    history = results.History(tmp_path, step=0)
    history.write(3, loss=2.5, tokens=7, sample="it was")
    history.write(4, split="held_out", loss=2, perplexity=math.inf)
    lines = results.read_metrics(tmp_path / "metrics.jsonl")
    assert all(line.pop("seconds") >= 0 for line in lines)
    assert lines == [
        {"step": 3, "loss": 2.5, "tokens": 7, "sample": "it was"},
        {"step": 4, "split": "held_out", "loss": 2, "perplexity": None},
    ]
    history.close()
    # TensorBoard shows a step that a resumed run repeats once.
    again = results.History(tmp_path, step=3)
    again.write(4, split="held_out", loss=1)
    again.close()
    folder = str(tmp_path / "tensorboard")
    shown = event_accumulator.EventAccumulator(folder).Reload()
    for tag, expected in ("train/loss", (3, 2.5)), ("held_out/loss", (4, 1.0)):
        assert [(e.step, e.value) for e in shown.Scalars(tag)] == [expected]
    assert not [tag for tag in shown.Tags()["scalars"] if "sample" in tag]


def test_resumed_history_drops_later_lines_and_counts_on(tmp_path):
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1, "loss": 1.0, "seconds": 100.5}\n'
        '{"step": 2, "loss": 2.0, "seconds": 200.5}\n'
        '{"step": 3, "lo'
    )
    history = results.History(tmp_path, step=1)
    assert 100.5 <= history.seconds < 150
    history.write(2, loss=20.0)
    history.close()
    lines = results.read_metrics(tmp_path / "metrics.jsonl")
    assert [line["loss"] for line in lines] == [1.0, 20.0]
    assert 100.5 <= lines[-1]["seconds"] < 150
