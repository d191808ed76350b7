import contextlib
import gc
import socket

import pytest

from gpt1_keras import errors
from gpt1_keras.runs import demo
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

pytest.importorskip("gradio", reason="requirements-demo.txt is not installed")
# What gradio's own dependencies say of themselves is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    tiny_task.write_preset(folder / "pretrained")
    for name in ("sst2", "race"):
        tiny_fine_tuned.write(
            folder / name, benchmarks.benchmark(name), folder / "pretrained"
        )
    return folder


@contextlib.contextmanager
def client(preset):
    import gradio_client

    app = demo.page(preset)
    try:
        yield gradio_client.Client(demo.launch(app, 0), verbose=False)
    finally:
        app.close()
        gc.collect()  # its warnings come here, not in another test


def test_label(folder):
    with client(folder / "sst2") as ask:
        found = ask.predict("a tall tree", api_name="/ask")
    assert found["label"] in ("0", "1")
    shares = [each["confidence"] for each in found["confidences"]]
    assert len(shares) == 2 and sum(shares) == pytest.approx(1)


def test_choices(folder):
    with client(folder / "race") as ask:
        found = ask.predict(
            "a tall tree", "near?", "gate\n\nour tree", api_name="/ask"
        )
        labels = {each["label"] for each in found["confidences"]}
        assert labels == {"0: gate", "1: our tree"}
        with pytest.raises(Exception, match="at least one choice"):
            ask.predict("a", "b", " \n", api_name="/ask")


def test_language_model(folder):
    with client(folder / "pretrained") as ask:
        summary, tokens = ask.predict("the old gate", api_name="/tokens")
        assert len(tokens) == int(summary.split()[0])
        text = ask.predict("the old gate", 8, 0.8, api_name="/continue")
    assert text.startswith("the old gate ")


def test_port_in_use(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        app = demo.page(folder / "sst2")
        with pytest.raises(errors.InputError, match=f"PORT {port} is taken"):
            demo.launch(app, port)


def test_mistakes(folder, monkeypatch):
    with pytest.raises(errors.InputError, match="nowhere does not exist"):
        demo.page("nowhere")
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.InputError, match="requirements-demo.txt"):
        demo.page(folder / "sst2")
