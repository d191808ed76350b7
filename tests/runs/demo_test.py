"""The page, asked as a browser asks it, in a process of its own."""

import asyncio

import numpy as np
import pytest
from scipy import special

from gpt1_keras.models import causal_lm
from gpt1_keras.runs import demo


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
