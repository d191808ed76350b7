"""What the page answers, and whom."""

import asyncio

import pytest

from gpt1_keras.runs import demo


def test_tokens(tiny):
    """One for each id that has a position; `view_test` has the numbers."""
    answers = demo.LanguageModelAnswers(tiny.folder / "pretrained", seed=1)
    found = answers.tokens("the old captain\nnear")
    assert "\u23ce" in [piece for piece, _ in found]
    assert len(answers.tokens("the " * 50)) == 32
    assert answers.tokens(" \n ") == []


def test_classes_of_a_benchmark_have_their_meaning(tiny):
    answers = demo.TaskAnswers(tiny.folder / "cola" / "preset")
    found = answers("the captain sleeps")
    assert list(found) == ["0 (unacceptable)", "1 (acceptable)"]
    assert sum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "reason, changes",
    [
        (None, {}),
        (None, {"host": "localhost:7860", "origin": "http://localhost:7860"}),
        ("Host", {"host": "evil.example:7860"}),
        ("Host", {"host": "127.0.0.1.evil.example"}),
        ("Host", {"host": ""}),
        ("Origin", {"origin": "http://evil.example"}),
        ("Origin", {"origin": "null"}),
        ("no files", {"path": "/gradio_api/upload"}),
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


def test_examples_are_rows_held_out_by_the_run(tmp_path):
    path = tmp_path / "dev.jsonl"
    assert demo._held_out(path, ("text",)) == []
    row = '{"text": "a", "text_pair": "b", "choices": ["c", "d"], "label": 0}\n'
    path.write_text(row * 9)
    found = demo._held_out(path, ("text", "text_pair", "choices"))
    assert found == [["a", "b", "c\nd"]] * 5
