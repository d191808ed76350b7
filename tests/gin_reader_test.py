import pathlib

import pytest

from gpt1_keras import config
from gpt1_keras import errors

HEADER = """\
from tests.reference import recorded_run
RUN = @recorded_run.record
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """An empty repository; the current directory is another one."""
    root, current = tmp_path / "repository", tmp_path / "current"
    (root / "gin").mkdir(parents=True)
    (current / "gin").mkdir(parents=True)
    monkeypatch.setattr(config, "ROOT", root)
    monkeypatch.chdir(current)
    return root


def refusal(path, *settings):
    with pytest.raises(errors.InputError) as caught:
        config.resolve([str(path)], list(settings))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_root_is_this_repository():
    assert (config.ROOT / "gpt1_keras" / "main.py").is_file()


def test_repository_is_first_and_the_current_directory_second(repository):
    (repository / "gin" / "base.gin").write_text("A = 'ours'\n")
    pathlib.Path("gin/base.gin").write_text("A = 'foreign'\n")
    (repository / "gin" / "run.gin").write_text("include 'gin/base.gin'\n")
    pathlib.Path("own.gin").write_text("include 'gin/base.gin'\nB = 2\n")
    for name in ("gin/run.gin", "gin/base.gin", "own.gin"):
        assert config.read([name], []).macros["A"] == "ours"
    assert config.read(["own.gin"], []).macros["B"] == 2


def test_later_files_and_settings_override(tmp_path):
    first, second = tmp_path / "first.gin", tmp_path / "second.gin"
    first.write_text("A = 1\nB = 1\nC = 1\n")
    second.write_text("B = 2\nC = 2\n")
    found = config.read([str(first), str(second)], ["C = 3", "D = 'x'"])
    assert found.macros == {"A": 1, "B": 2, "C": 3, "D": "x"}
    assert found.places["B"] == f"{second}, line 1"


def test_mistakes_name_file_and_line(tmp_path):
    path = tmp_path / "wrong.gin"
    for line, expected in (
        ("A = 2 * 3", "arithmetic"),
        ("A = [1, 2", "line"),
        ("A =", "line 3"),
        ("A = text", "quotes"),
        ("A 3", "line 3"),
        ("A = 1e999", "too large"),
        ("  A = 3\n B = 4", "indent"),
        ("recorded_run.record.stepz = 3", "no parameter stepz; did you mean"),
        ("recorded_run.nothing.steps = 3", "no recorded_run.nothing"),
        ("nowhere.record.steps = 3", "no nowhere.record"),
        ("pretrain.Trainign.seed = 3", "did you mean pretrain.Training?"),
        ("RUN = @recorded_run.recrod", "no recorded_run.recrod"),
        ("include 'gin/missing.gin'", "gin/missing.gin"),
        ("import nobody\nRUN = @nobody.f", "pip install -r requirements.txt"),
    ):
        path.write_text(f"{HEADER}{line}\n")
        message = refusal(path)
        assert message.startswith(f"{path}, line "), line
        assert expected in message


def test_mistakes_of_files(repository, tmp_path):
    base = repository / "gin" / "base.gin"
    (repository / "gin" / "pretrain.gin").write_text("include 'gin/base.gin'\n")
    base.write_text("A = 1\nB = 2 * 3\n")
    assert refusal("gin/pretrain.gin").startswith("gin/base.gin, line 2: ")
    base.write_text("include 'gin/pretrain.gin'\n")
    assert "includes itself" in refusal("gin/pretrain.gin")
    assert "did you mean gin/pretrain.gin?" in refusal("gin/pretrian.gin")
    (tmp_path / "binary.gin").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read as text" in refusal(tmp_path / "binary.gin")


def test_defect_of_an_imported_module_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "a.gin"
    path.write_text("import broken_module\nRUN = @broken_module.f\n")
    with pytest.raises(ZeroDivisionError):
        config.resolve([str(path)], [])


def test_missing_module():
    for message, expected in (
        ("No module named 'tensorflow'", "KERAS_BACKEND"),
        ("No module named 'jax'\n  In file", "KERAS_BACKEND"),
        ("No module named 'ftfy'", "pip install -r requirements.txt"),
        ("No module named 'gpt1_keras.missing'", None),
        ("cannot import name 'x' from 'gpt1_keras'", None),
    ):
        found = config.missing_module(ImportError(message))
        if expected is None:
            assert found is None
        else:
            assert found.startswith(message.split("\n")[0])
            assert expected in found and "\n" not in found
