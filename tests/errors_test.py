import os

import pytest

from gpt1_keras import errors
from tests.reference import processes


def test_messages_are_one_printable_line():
    message = str(errors.InputError("a\nb\0\u2028c\x85 grün é 日本"))
    assert message == "a\\nb\\x00\\u2028c\\x85 grün é 日本"
    message = str(errors.InputError("begin" + "x" * 5000 + "end"))
    assert len(message) < 1000 and message[:5] + message[-3:] == "beginend"


def test_a_signal_while_modules_load_gives_the_documented_status(tmp_path):
    """CPython makes 130 of it if code that a module executes was stopped."""
    (tmp_path / "loading.py").write_text("exec('raise KeyboardInterrupt')")
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from gpt1_keras import errors\n"
        "try:\n"
        "    import loading\n"
        "except KeyboardInterrupt as error:\n"
        "    sys.exit(errors.report(error))\n"
    )
    paths = f"{processes.ROOT}:{tmp_path}"
    done = processes.python("-m", "program", cwd=tmp_path, PYTHONPATH=paths)
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("stopped by SIGINT")


class ResourceExhaustedError(Exception):
    """By its name only: no framework is imported here."""


def test_out_of_memory_is_known_on_every_backend(monkeypatch):
    for error in (
        MemoryError(),
        ResourceExhaustedError("OOM when allocating tensor"),
        ValueError("RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ):
        assert errors.is_out_of_memory(error)
    assert not errors.is_out_of_memory(RuntimeError("shapes differ"))
    pipes = []
    monkeypatch.setattr(os, "dup2", lambda *both: pipes.append(both))
    assert errors.report(BrokenPipeError()) == 1 and len(pipes) == 1
    renaming = OSError(21, "Is a directory", "a.tmp", None, "a")
    assert errors.describe_os_error(renaming) == "a: Is a directory"
    assert errors.outcome(ValueError("Unable to import backend : x"))[1] == 2
    found = errors.outcome(RuntimeError("Could not determine home directory."))
    assert found[0].endswith("set the environment variable HOME")
    with pytest.raises(AttributeError) as caught:  # as in Keras's own module
        exec("[].get", {"_config_path": "keras.json"})
    assert errors.outcome(caught.value)[0].startswith("error: keras.json: 'li")
    with pytest.raises(ImportError) as caught:
        code = "raise ImportError('install flax')"
        exec(code, {"_config_path": "keras.json"})
    assert "keras.json: install flax" in errors.outcome(caught.value)[0]
