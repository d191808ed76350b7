"""The page, asked as a browser asks it, in a process of its own."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from gpt1_keras import errors
from gpt1_keras.runs import demo
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

needs_gradio = pytest.mark.skipif(
    demo.importlib.util.find_spec("gradio") is None,
    reason="requirements-demo.txt is not installed",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    tiny_task.write_preset(folder / "pretrained")
    tiny_fine_tuned.write(
        folder / "race", benchmarks.benchmark("race"), folder / "pretrained"
    )
    return folder


def command(preset, port=0):
    arguments = [
        "--set",
        f"PRESET = {str(preset)!r}",
        "--set",
        f"PORT = {port}",
    ]
    return [
        *(sys.executable, "-m", "gpt1_keras.main", "--gin", "gin/demo.gin"),
        *arguments,
    ]


@contextlib.contextmanager
def page(preset):
    """A function that asks the page and returns what it answers."""
    process = subprocess.Popen(
        command(preset),
        cwd=tiny_fine_tuned.ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore Ctrl-C, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"open (http://127.0.0.1:\d+)", line):
                break
        else:
            raise AssertionError("".join(lines))
        yield lambda name, *values: ask(found[1], name, values)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def ask(address, name, values):
    """The last event that the page sends, and its data."""
    url = f"{address}/gradio_api/call/{name}"
    request = urllib.request.Request(
        url,
        json.dumps({"data": values}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        event = json.load(response)["event_id"]
    with urllib.request.urlopen(f"{url}/{event}", timeout=60) as response:
        text = response.read().decode()
    *_, (kind, data) = re.findall(r"event: (\w+)\ndata: (.*)", text)
    return kind, json.loads(data)


@needs_gradio
def test_choices(folder):
    with page(folder / "race") as ask_page:
        kind, (found,) = ask_page(
            "ask", "a tall tree", "near?", "gate\n\nour tree"
        )
        assert kind == "complete"
        shares = {e["label"]: e["confidence"] for e in found["confidences"]}
        assert set(shares) == {"0: gate", "1: our tree"}
        assert sum(shares.values()) == pytest.approx(1)
        kind, _ = ask_page("ask", "a", "b", " \n")
        assert kind == "error"


@needs_gradio
def test_language_model(folder):
    with page(folder / "pretrained") as ask_page:
        _, (summary, tokens) = ask_page("tokens", "the old gate")
        assert len(tokens) == int(summary.split()[0])
        _, (text,) = ask_page("continue", "the old gate", 8, 0.8)
    assert text.startswith("the old gate ")


@needs_gradio
def test_port_in_use(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            command(folder / "pretrained", port),
            cwd=tiny_fine_tuned.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert f"PORT {port} is taken" in done.stderr.strip().splitlines()[-1]


def test_without_gradio(folder, monkeypatch):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.InputError, match="requirements-demo.txt"):
        demo.page(folder / "race")
