"""The page, asked as a browser asks it, in a process of its own."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

import matplotlib.image
import numpy as np
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
def serving(preset, **environment):
    """Serve a page in a process of its own; give its address."""
    process = subprocess.Popen(
        command(preset),
        cwd=tiny_fine_tuned.ROOT,
        env=os.environ | environment,
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
        yield found[1]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def page(preset, **environment):
    """A function that asks the page and returns what it answers."""
    with serving(preset, **environment) as address:
        yield lambda name, *values: ask(address, name, values)


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


# A proxy that answers nothing, and what would tell others of the page.
HOSTILE = {
    "http_proxy": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "no_proxy": "",
    "NO_PROXY": "",
    "GRADIO_SHARE": "True",
    "GRADIO_ANALYTICS_ENABLED": "True",
}


@needs_gradio
def test_language_model_whatever_the_environment(folder):
    with page(folder / "pretrained", **HOSTILE) as ask_page:
        _, (summary, tokens) = ask_page("tokens", "the old gate")
        assert len(tokens) == int(summary.split()[0])
        values = [float(each["token"].split()[-1]) for each in tokens]
        total = float(re.search("log-probability (-[0-9.]+)", summary)[1])
        assert sum(values) == pytest.approx(
            total, abs=0.05 * len(values) + 0.01
        )
        _, (text,) = ask_page("continue", "the old gate", 8, 0.8)
    assert text.startswith("the old gate ")


def test_nothing_leaves_this_machine(monkeypatch):
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "intranet")
    demo._stay_on_this_machine()
    assert os.environ["GRADIO_ANALYTICS_ENABLED"] == "False"
    for name in ("no_proxy", "NO_PROXY"):
        assert os.environ[name] == "intranet,127.0.0.1,localhost"
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")
    demo._stay_on_this_machine()
    assert os.environ["NO_PROXY"] == "*"


@needs_gradio
def test_no_tunnel(monkeypatch):
    given = {}

    class App:
        def launch(self, **settings):
            given.update(settings)
            return None, "address", None

    assert demo.launch(App(), 0) == "address"
    assert given["share"] is False
    assert given["server_name"] == "127.0.0.1"


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
    last = done.stderr.strip().splitlines()[-1]
    assert f"PORT {port} cannot be used (Address already in use)" in last


@pytest.mark.parametrize("port", [-1, 65536, "http", None])
def test_no_port(port):
    with pytest.raises(errors.InputError, match=f"^PORT {port} .* 0 to 65535"):
        demo.demo(preset="nowhere", port=port, seed=0)


def test_port_that_is_not_allowed(monkeypatch):
    def bind(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(demo.socket.socket, "bind", bind)
    with pytest.raises(errors.InputError, match=r"^PORT 80 .*\(Permission "):
        demo.demo(preset="nowhere", port=80, seed=0)


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome"))), None
)


def browse(folder, address, *options):
    """What headless Chromium, which finds no other host, writes of a page."""
    done = subprocess.run(
        [
            CHROMIUM,
            *("--headless", "--no-sandbox", "--disable-gpu"),
            f"--user-data-dir={folder / 'profile'}",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            "--no-proxy-server",
            "--window-size=1000,1000",
            # Of the page's own clock: its scripts have run.
            "--virtual-time-budget=20000",
            *options,
            address,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )
    return done.stdout.decode()


def hosts_asked(log, address):
    """Hosts the page has asked; the browser's own errands are not its."""
    events = json.loads(log.read_text())["events"]
    given = [event.get("params", {}) for event in events]
    return {
        urllib.parse.urlsplit(each["url"]).hostname
        for each in given
        if "url" in each and each.get("initiator") == address.rstrip("/")
    }


@needs_gradio
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize(
    "name, expected",
    [
        ("pretrained", ["language model", "how likely is it?", "temperature"]),
        ("race", ["race", "choices, one a line"]),
    ],
)
def test_in_a_browser_without_the_internet(folder, tmp_path, name, expected):
    picture, log = tmp_path / "page.png", tmp_path / "net.json"
    with serving(folder / name) as address:
        dom = browse(tmp_path, address, "--dump-dom", f"--log-net-log={log}")
        browse(tmp_path, address, f"--screenshot={picture}")
    assert re.search(rf"<h2[^>]*>{expected[0]}</h2>", dom)
    for text in (*expected, str(folder / name)):
        assert text in dom
    assert hosts_asked(log, address) == {"127.0.0.1"}
    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (1000, 1000)
    colors = np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)
    assert len(colors) > 50


def test_without_gradio(folder, monkeypatch):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.InputError, match="requirements-demo.txt"):
        demo.page(folder / "race")
