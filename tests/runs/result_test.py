import json
import logging

import keras

from gpt1_keras import results

# Other programs read these.
KEYS = {
    *("run", "task", "split", "metrics", "paper", "num_examples", "seed"),
    *("config_sha256", "git_commit", "backend", "seconds"),
}


def write(workdir, **more):
    results.write(
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
    write(tmp_path, tokens_seen=30)
    found = json.loads((tmp_path / "result.json").read_text())
    assert found == results.read(tmp_path)
    assert set(found) == KEYS | {"tokens_seen"}
    assert found["metrics"] == {"perplexity": 12.5}
    assert found["seconds"] == 1.3
    assert found["backend"] == keras.config.backend()
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_nothing_written_yet(tmp_path):
    assert results.read(tmp_path) is None
    assert not results.is_finished(tmp_path, "abc")


def test_finished_is_one_configuration(tmp_path, caplog):
    write(tmp_path)
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="absl"):
        assert not results.is_finished(tmp_path, "another")
        assert "finished before" not in caplog.text
        assert results.is_finished(tmp_path, "abc", "EXTEND it or")
    assert "finished before" in caplog.text
    assert "EXTEND it or give another --workdir" in caplog.text


def test_commit_is_that_of_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "_ROOT", tmp_path)
    write(tmp_path)
    assert results.read(tmp_path)["git_commit"] is None


def test_no_git_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path)
    assert results.read(tmp_path)["git_commit"] is None
