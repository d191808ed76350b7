import json
import math

import pytest
from tensorboard.backend.event_processing import event_file_loader

from gpt1_keras import results


def recorded(workdir):
    return results.read_metrics(workdir / "metrics.jsonl")


def without_seconds(lines):
    return [{k: v for k, v in x.items() if k != "seconds"} for x in lines]


def test_one_object_per_line_and_the_time(tmp_path):
    history = results.History(tmp_path, step=0)
    history.write(3, loss=2.5, tokens=7)
    history.write(3, split="held_out", loss=2)
    history.close()
    text = (tmp_path / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert without_seconds(lines) == [
        {"step": 3, "loss": 2.5, "tokens": 7},
        {"step": 3, "split": "held_out", "loss": 2},
    ]
    assert all(line["seconds"] >= 0 for line in lines)


def test_a_line_is_on_the_disk_at_once(tmp_path):
    history = results.History(tmp_path, step=0)
    history.write(1, loss=2.5)
    assert recorded(tmp_path)[0]["loss"] == 2.5
    history.close()


def test_tensorboard_holds_the_same_numbers(tmp_path):
    history = results.History(tmp_path, step=0)
    history.write(3, loss=2.5, sample="it was")
    history.write(4, split="held_out", loss=1.5)
    history.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    found = {
        (event.step, value.tag): value
        for event in event_file_loader.LegacyEventFileLoader(str(path)).Load()
        for value in event.summary.value
    }
    assert found[3, "train/loss"].simple_value == 2.5
    assert found[4, "held_out/loss"].simple_value == 1.5
    assert not [tag for _, tag in found if "sample" in tag]


def test_later_lines_of_a_killed_run_are_removed(tmp_path):
    history = results.History(tmp_path, step=0)
    for step in range(1, 6):
        history.write(step, loss=float(step))
    history.close()
    history = results.History(tmp_path, step=3)
    assert [line["step"] for line in recorded(tmp_path)] == [1, 2, 3]
    history.write(4, loss=40.0)
    history.close()
    losses = [line["loss"] for line in recorded(tmp_path)]
    assert losses == [1.0, 2.0, 3.0, 40.0]


def test_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    assert results.read_metrics(path) == [{"step": 1, "loss": 2.0}]
    history = results.History(tmp_path, step=9)
    history.write(2, loss=1.0)
    history.close()
    assert [line["step"] for line in recorded(tmp_path)] == [1, 2]


def test_no_file_yet(tmp_path):
    assert results.read_metrics(tmp_path / "metrics.jsonl") == []


def test_seconds_of_earlier_processes_count(tmp_path):
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1, "seconds": 100.5}\n{"step": 2, "seconds": 200.5}\n'
    )
    history = results.History(tmp_path, step=1)
    assert 100.5 <= history.seconds < 150
    history.write(2, loss=1.0)
    history.close()
    assert 100.5 <= recorded(tmp_path)[-1]["seconds"] < 150


@pytest.mark.parametrize(
    "loss, expected", [(0.0, 1.0), (1.0, math.e), (1e4, math.inf)]
)
def test_perplexity(loss, expected):
    assert results.perplexity(loss) == pytest.approx(expected)


def test_perplexity_of_no_number():
    assert math.isnan(results.perplexity(math.nan))
