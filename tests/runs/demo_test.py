"""The page, asked as a browser asks it, in a process of its own."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import matplotlib.image
import numpy as np
import pytest
from scipy import special

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import demo
from gpt1_keras.tasks import benchmarks
from tests.reference import kill_run
from tests.reference import tiny_fine_tuned

needs_gradio = pytest.mark.skipif(
    demo.importlib.util.find_spec("gradio") is None,
    reason="requirements-demo.txt is not installed",
)


@pytest.mark.parametrize("name", ["sst2", "rte", "stsb", "race"])
def test_task_answers(tiny, tmp_path, name):
    task = benchmarks.benchmark(name)
    model = tiny_fine_tuned.write(tmp_path, task, tiny.folder / "pretrained")
    answers = demo.TaskAnswers(tmp_path / "preset")
    given = {
        "text": "the old captain",
        "text_pair": "our gate",
        "choices": ("a tree", "near", "a tree"),
    }
    given = {key: given[key] for key in answers.inputs}
    logits = tiny_fine_tuned.logits_one_by_one(
        model, [examples.Example(**given)]
    )
    expected = special.softmax(logits[0])
    found = answers(**given)
    assert answers.task == name and answers.is_score == (name == "stsb")
    if answers.is_score:
        assert found == pytest.approx(expected @ np.arange(6), abs=1e-4)
        return
    names = task.label_space.class_names
    names = names or ("0: a tree", "1: near", "2: a tree")
    assert tuple(found) == tuple(names)
    assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.fixture(scope="module")
def language_model(tiny):
    return demo.LanguageModelAnswers(tiny.folder / "pretrained", seed=1)


def test_tokens(tiny, language_model):
    model = causal_lm.GPT1CausalLM.from_preset(str(tiny.folder / "pretrained"))
    tokenizer = model.preprocessor.tokenizer.pipeline
    for text in ("the old captain\nnear", "x", "the " * 50):
        ids = tokenizer.encode(text)[:32]
        found = language_model.tokens(text)
        assert len(found) == len(ids)
        assert ("\u23ce" in [piece for piece, _ in found]) == ("\n" in text)
        for i in {0, len(ids) // 2, len(ids) - 1}:
            before = [tokenizer.newline_id, *ids[:i], 0][: max(2, i + 1)]
            before = np.array([before])
            logits = model(
                {"token_ids": before, "padding_mask": np.ones_like(before)}
            )
            row = np.asarray(logits[0, i], "float64")
            assert found[i][1] == pytest.approx(
                special.log_softmax(row)[ids[i]], abs=1e-4
            )
    assert language_model.tokens(" \n ") == []


def test_continuation_grows_and_repeats(language_model):
    first, second = (
        list(language_model.continued("the old", 12, 1.0)) for _ in range(2)
    )
    assert first == second and len(first) == 12
    assert first[-1].startswith("the old") and len(first[-1]) > 10
    assert list(language_model.continued("", 3, 1.0))


@contextlib.contextmanager
def serving(preset, log, **environment):
    """Serve a page in a process of its own; yield its address."""
    arguments = ["--gin", "gin/demo.gin", "--set", "PORT = 0"]
    arguments += ["--set", f"PRESET = {str(preset)!r}"]
    process = kill_run.Process(arguments, log, environment)
    try:
        found = None
        while found is None and process.poll() is None:
            time.sleep(0.1)
            said = log.read_text() if log.exists() else ""
            found = re.search(r"open (http://127.0.0.1:\d+)", said)
        assert found, said
        yield found[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)


def ask(address, name, *values):
    """Return the last event that the page sends, and its data."""
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
def test_choices(tiny, tmp_path):
    with serving(tiny.folder / "race", tmp_path / "log") as address:
        kind, (found,) = ask(
            address, "ask", "a tall tree", "near?", "gate\n\nour tree"
        )
        assert kind == "complete"
        shares = {e["label"]: e["confidence"] for e in found["confidences"]}
        assert set(shares) == {"0: gate", "1: our tree"}
        assert sum(shares.values()) == pytest.approx(1)
        kind, _ = ask(address, "ask", "a", "b", " \n")
        assert kind == "error"
        own = urllib.parse.urlsplit(address).netloc
        for status, method, path, headers in (
            (200, "GET", "/", {"Host": own, "Origin": address.rstrip("/")}),
            (403, "GET", "/", {"Host": f"other.example:{own[-4:]}"}),
            (403, "GET", "/config", {"Origin": "http://other.example"}),
            (403, "POST", "/gradio_api/upload", {"Host": own}),
        ):
            connection = http.client.HTTPConnection(own, timeout=60)
            connection.request(method, path, headers=headers)
            assert connection.getresponse().status == status, (path, headers)
            connection.close()


@pytest.mark.parametrize(
    "reason, changes",
    [
        (None, {}),
        (None, {"host": "localhost:7860", "origin": "http://localhost:7860"}),
        (None, {"host": "[::1]:7860"}),
        (None, {"method": "POST", "content-length": "9"}),
        ("Host", {"host": "evil.example:7860"}),
        ("Host", {"host": "127.0.0.1.evil.example"}),
        ("Host", {"host": ""}),
        ("not a valid address", {"host": "[::1"}),
        ("Origin", {"origin": "http://evil.example"}),
        ("Origin", {"origin": "null"}),
        ("Origin", {"origin": "http://127.0.0.1:3000"}),
        ("no files", {"path": "/gradio_api/upload"}),
        ("no files", {"path": "/upload_progress"}),
        ("bytes", {"method": "POST"}),
        ("bytes", {"method": "POST", "content-length": str(1 << 30)}),
        ("", {"type": "websocket"}),
    ],
)
def test_the_guard_answers_this_machine_s_own_page_alone(reason, changes):
    scope = {"type": "http", "method": "GET", "path": "/"}
    scope |= {k: v for k, v in changes.items() if k in scope}
    headers = {"host": "127.0.0.1:7860"} | changes
    scope["headers"] = [
        (k.encode(), v.encode()) for k, v in headers.items() if k not in scope
    ]
    sent = []

    async def app(scope, receive, send):
        sent.append("answered")

    async def send(message):
        sent.append(message)

    asyncio.run(demo.Guard(app)(scope, None, send))
    if reason is None:
        assert sent == ["answered"]
    elif scope["type"] == "websocket":
        assert sent == [{"type": "websocket.close"}]
    else:
        assert sent[0]["status"] == 403 and reason in sent[1]["body"].decode()


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
def test_language_model_whatever_the_environment(tiny, tmp_path):
    preset, log = tiny.folder / "pretrained", tmp_path / "log"
    with serving(preset, log, **HOSTILE) as address:
        _, (summary, tokens) = ask(address, "tokens", "the old gate")
        assert len(tokens) == int(summary.split()[0])
        values = [float(each["token"].split()[-1]) for each in tokens]
        total = float(re.search("log-probability (-[0-9.]+)", summary)[1])
        assert sum(values) == pytest.approx(
            total, abs=0.05 * len(values) + 0.01
        )
        _, (text,) = ask(address, "continue", "the old gate", 8, 0.8)
    assert text.startswith("the old gate ")


def test_nothing_leaves_this_machine(monkeypatch):
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "intranet")
    demo._stay_on_this_machine()
    assert os.environ["GRADIO_ANALYTICS_ENABLED"] == "False"
    for name in ("no_proxy", "NO_PROXY"):
        assert os.environ[name] == "intranet,127.0.0.1,localhost"
        monkeypatch.setenv(name, "*")
    demo._stay_on_this_machine()
    assert os.environ["NO_PROXY"] == "*"
    given = {}

    class App:
        def launch(self, **settings):
            given.update(settings)
            return None, "address", None

    if demo.importlib.util.find_spec("gradio") is not None:
        assert demo.launch(App(), 0) == "address"
        assert given["share"] is False
        assert given["server_name"] == "127.0.0.1"


def test_mistakes(tiny, monkeypatch):
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        expected = rf"^`port` {port} .*\(Address already in use\)"
        with pytest.raises(errors.InputError, match=expected):
            demo.demo(preset=None, port=port, seed=0)
    status, messages = tiny_fine_tuned.call_main(
        "gin/demo.gin", None, PORT=65536
    )
    assert status == 2
    assert "PORT is 65536: give a whole number from 0" in messages

    def bind(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(demo.socket.socket, "bind", bind)
    with pytest.raises(errors.InputError, match=r"^`port` 80 .*\(Permission "):
        demo.demo(preset=None, port=80, seed=0)
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.InputError, match="requirements-demo.txt"):
        demo.page(tiny.folder / "race")


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome"))), None
)


def browse(folder, address, *options):
    """Return what headless Chromium, which finds no other host, prints."""
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


@needs_gradio
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_in_a_browser_without_the_internet(tiny, tmp_path):
    picture, log = tmp_path / "page.png", tmp_path / "net.json"
    preset = tiny.folder / "pretrained"
    with serving(preset, tmp_path / "log") as address:
        dom = browse(tmp_path, address, "--dump-dom", f"--log-net-log={log}")
        browse(tmp_path, address, f"--screenshot={picture}")
    for text in ("language model</h2>", "show probabilities", str(preset)):
        assert text in dom
    # The browser's own errands are not the page's.
    events = json.loads(log.read_text())["events"]
    given = [event.get("params", {}) for event in events]
    assert {
        urllib.parse.urlsplit(each["url"]).hostname
        for each in given
        if "url" in each and each.get("initiator") == address.rstrip("/")
    } == {"127.0.0.1"}
    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (1000, 1000)
    colors = np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)
    assert len(colors) > 50
