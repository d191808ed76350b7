import asyncio
from unittest import mock

import pytest

from gpt1_keras.runs import demo


def test_the_page_continues_a_text(tiny):
    gradio = mock.MagicMock()
    demo._language_model_page(gradio, tiny.folder / "pretrained", seed=1)
    continued, *_ = gradio.Button().click.call_args.args
    found = list(continued("the old captain", 3, 0.8))
    assert len(found) == 3 and len(found[0]) < len(found[2])
    assert all(text.startswith("the old captain") for text in found)


def test_classes_of_a_benchmark_have_their_meaning(tiny):
    answers = demo.TaskAnswers(tiny.folder / "cola" / "preset")
    found = answers("the captain sleeps")
    assert list(found) == ["0 (unacceptable)", "1 (acceptable)"]
    assert sum(found.values()) == pytest.approx(1)


def test_the_page_answers_this_machine_alone():
    pytest.importorskip("gradio")
    options = demo._for_this_machine()
    assert options["server_name"] == "127.0.0.1" and not options["share"]
    asked, answers = [], []

    async def page(scope, receive, send):
        asked.append(scope["headers"][0][1])

    async def send(message):
        answers.append(message.get("status"))

    (guard,) = options["app_kwargs"]["middleware"]
    guarded = guard.cls(page, *guard.args, **guard.kwargs)
    for host in (b"127.0.0.1:7860", b"localhost:7860", b"evil.example", b""):
        scope = {"type": "http", "headers": [(b"host", host)]}
        asyncio.run(guarded(scope, None, send))
    assert asked == [b"127.0.0.1:7860", b"localhost:7860"]
    assert answers == [400, None] * 2


def test_examples_are_rows_held_out_by_the_run(tmp_path):
    path = tmp_path / "dev.jsonl"
    assert demo._held_out(path, ("text",)) == []
    row = '{"text": "a", "text_pair": "b", "choices": ["c", "d"], "label": 0}\n'
    for damage, count in ("", 5), ("\ufeff", 5), ("[1]\n", 4), ('{"te\n\n', 4):
        path.write_text(damage + row * 9, encoding="utf-8")
        found = demo._held_out(path, ("text", "text_pair", "choices"))
        assert found == [["a", "b", "c\nd"]] * count
    path.write_text('{"choices": null}')
    assert demo._held_out(path, ("text", "choices")) == [["", ""]]
