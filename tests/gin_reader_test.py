import pathlib

import gin
import pytest

from gpt1_keras import config
from gpt1_keras import errors

HEADER = """\
from __gin__ import dynamic_registration
from tests.reference import recorded_run
"""


@pytest.fixture(autouse=True)
def clean_gin():
    yield
    gin.clear_config()


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
        config.parse([str(path)], list(settings))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_root_is_this_repository():
    assert (config.ROOT / "gpt1_keras" / "config.py").is_file()


def test_repository_wins_over_a_foreign_file_of_equal_name(repository):
    (repository / "gin" / "base.gin").write_text("A = 'ours'\n")
    pathlib.Path("gin/base.gin").write_text("A = 'foreign'\n")
    (repository / "gin" / "middle.gin").write_text("include 'gin/base.gin'\n")
    (repository / "gin" / "run.gin").write_text("include 'gin/middle.gin'\n")
    for name in ("gin/run.gin", "gin/middle.gin", "gin/base.gin"):
        config.parse([name], [])
        assert gin.query_parameter("%A") == "ours"


def test_current_directory_is_second(repository):
    (repository / "gin" / "base.gin").write_text("A = 'ours'\nB = 1\n")
    pathlib.Path("own.gin").write_text("include 'gin/base.gin'\nB = 2\n")
    config.parse(["own.gin"], [])
    assert gin.query_parameter("%A") == "ours"
    assert gin.query_parameter("%B") == 2


def test_later_files_and_settings_override(tmp_path):
    first, second = tmp_path / "first.gin", tmp_path / "second.gin"
    first.write_text("A = 1\nB = 1\nC = 1\n")
    second.write_text("B = 2\nC = 2\n")
    config.parse([str(first), str(second)], ["C = 3", "D = 'x'"])
    assert [gin.query_parameter(f"%{name}") for name in "ABCD"] == [
        1,
        2,
        3,
        "x",
    ]


def test_nothing_is_left_of_an_earlier_parse(tmp_path):
    path = tmp_path / "a.gin"
    path.write_text("A = 1\n")
    config.parse([str(path)], ["B = 1"])
    config.parse([str(path)], [])
    with pytest.raises(ValueError):
        gin.query_parameter("%B")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("A = 2 * 3", "arithmetic"),
        ("A = [1, 2", "line"),
        ("A =", "line 3"),
        ("A = text", "quotes"),
        ("A 3", "line 3"),
        ("  A = 3\n B = 4", "indent"),
        ("recorded_run.record.stepz = 3", "stepz"),
        ("recorded_run.nothing.steps = 3", "nothing"),
        ("nowhere.record.steps = 3", "nowhere"),
        ("RUN = @recorded_run.recrod", "recrod"),
        ("include 'gin/missing.gin'", "gin/missing.gin"),
        ("import gpt1_keras.missing", "gpt1_keras.missing"),
        ("import module_of_nobody", "pip install -r requirements.txt"),
        ("from tests.reference import missing_run", "missing_run"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path, line, expected):
    path = tmp_path / "wrong.gin"
    path.write_text(f"{HEADER}{line}\n")
    message = refusal(path)
    assert message.startswith(f"{path}, line ")
    assert expected in message


def test_mistake_in_an_include_names_the_included_file(repository):
    (repository / "gin" / "base.gin").write_text("A = 1\nB = 2 * 3\n")
    (repository / "gin" / "run.gin").write_text("include 'gin/base.gin'\n")
    assert refusal("gin/run.gin").startswith("gin/base.gin, line 2: ")


def test_file_that_is_no_text(tmp_path):
    path = tmp_path / "binary.gin"
    path.write_bytes(b"\xff\xfe\x00")
    assert "cannot be read as text" in refusal(path)


def test_missing_file_names_the_nearest(repository):
    (repository / "gin" / "pretrain.gin").write_text("A = 1\n")
    assert "did you mean gin/pretrain.gin?" in refusal("gin/pretrian.gin")


def test_defect_of_an_imported_module_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    (tmp_path / "unparsable_module.py").write_text("def :\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "a.gin"
    path.write_text("import broken_module\n")
    with pytest.raises(ZeroDivisionError):
        config.parse([str(path)], [])
    path.write_text("import unparsable_module\n")
    with pytest.raises(SyntaxError):
        config.parse([str(path)], [])


@pytest.mark.parametrize(
    "message, expected",
    [
        ("No module named 'tensorflow'", "KERAS_BACKEND"),
        ("No module named 'jax'\n  In file", "KERAS_BACKEND"),
        ("No module named 'ftfy'", "pip install -r requirements.txt"),
        ("No module named 'gpt1_keras.missing'", None),
        ("cannot import name 'x' from 'gpt1_keras'", None),
    ],
)
def test_missing_module(message, expected):
    found = config.missing_module(ImportError(message))
    if expected is None:
        assert found is None
    else:
        assert found.startswith(message.split("\n")[0]) and expected in found
        assert "\n" not in found
