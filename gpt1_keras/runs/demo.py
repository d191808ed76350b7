"""A page on this machine to try a model on."""

import importlib.util
import math
import os

from absl import logging

from gpt1_keras import errors
from gpt1_keras.runs import demo_answers
from gpt1_keras.runs import presets

_FONT = ["system-ui", "sans-serif"]  # of the browser: nothing is fetched


def demo(*, preset, port, seed):
    """Serve a page on 127.0.0.1 until Ctrl-C; write nothing.

    Args:
        preset: path of a fine-tuning or pretraining run, or of its preset;
            None for the one shipped.
        port: int; 0 takes a free one.
        seed: int, of what a language model writes.
    """
    app = page(preset, seed)
    address = launch(app, port)
    logging.info("open %s in a browser; Ctrl-C ends it", address)
    app.block_thread()


def page(preset, seed=0):
    """Return the `gradio.Blocks` of a model.

    Raises:
        InputError: gradio is not installed, or there is no such preset.
    """
    if importlib.util.find_spec("gradio") is None:
        raise errors.InputError(
            "the page is made with gradio, which is not installed: "
            "pip install -r requirements-demo.txt"
        )
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    import gradio

    directory = presets.find(None) if preset is None else None
    directory = directory or presets.find_best(preset)
    build = _language_model_page
    if presets.has_head(directory):
        build = _task_page
    with gradio.Blocks(title="gpt1_keras", analytics_enabled=False) as app:
        build(gradio, directory, seed)
    return app


def launch(app, port):
    """Start serving in a thread; return the address.

    Raises:
        InputError: the port is taken.
    """
    import gradio

    theme = gradio.themes.Default(font=_FONT, font_mono=["monospace"])
    try:
        _, address, _ = app.launch(
            server_name="127.0.0.1",
            server_port=port or None,
            prevent_thread_lock=True,
            quiet=True,
            theme=theme,
        )
    except OSError:
        raise errors.InputError(
            f"PORT {port} is taken: give another, or 0 for any"
        ) from None
    return address


def _task_page(gradio, preset, seed):
    del seed
    answers = demo_answers.TaskAnswers(preset)
    gradio.Markdown(f"## {answers.task}\n`{preset}`")
    names = {
        "text": "text",
        "text_pair": "second text or question",
        "choices": "choices, one a line",
    }
    boxes = [
        gradio.Textbox(label=names[name], lines=3) for name in answers.inputs
    ]
    button = gradio.Button("ask", variant="primary")
    output = gradio.Label(label="score" if answers.is_score else "label")

    def answer(*values):
        given = dict(zip(answers.inputs, values, strict=True))
        if "choices" in given:
            lines = given["choices"].split("\n")
            given["choices"] = [line for line in lines if line.strip()]
            if not given["choices"]:
                raise gradio.Error("give at least one choice, one a line")
        found = answers(**given)
        return f"{found:.2f}" if answers.is_score else found

    button.click(answer, boxes, output, api_name="ask")


def _language_model_page(gradio, preset, seed):
    answers = demo_answers.LanguageModelAnswers(preset, seed)
    gradio.Markdown(f"## language model\n`{preset}`")
    text = gradio.Textbox(
        label="text", lines=4, value="It was a dark and stormy night"
    )
    with gradio.Row():
        number = gradio.Slider(8, 256, 64, step=8, label="new tokens")
        temperature = gradio.Slider(0.1, 2.0, 0.8, label="temperature")
    with gradio.Row():
        go_on = gradio.Button("go on with it", variant="primary")
        read = gradio.Button("how likely is it?")
    written = gradio.Textbox(label="continuation", lines=6)
    summary = gradio.Markdown()
    tokens = gradio.HighlightedText(
        label="probability of each token, given those before it",
        color_map={label: color for label, _, color in _SHARES},
        show_legend=True,
    )
    go_on.click(
        answers.continued,
        [text, number, temperature],
        written,
        api_name="continue",
    )
    read.click(
        lambda text: _colored(answers.tokens(text)),
        text,
        [summary, tokens],
        api_name="tokens",
    )


# Label of a share, the least share that has it, and its color.
_SHARES = (
    ("over 50 %", 0.5, "#1a9850"),
    ("over 10 %", 0.1, "#91cf60"),
    ("over 1 %", 0.01, "#fee08b"),
    ("less", 0.0, "#d73027"),
)


def _colored(tokens):
    """Return a sentence on the whole text, and each token with its share."""
    if not tokens:
        return "no text", []
    total = sum(value for _, value in tokens)
    perplexity = math.exp(-total / len(tokens))
    return (
        f"{len(tokens)} tokens, log-probability {total:.2f}, perplexity "
        f"{perplexity:.1f} per token",
        [(piece, _label(math.exp(value))) for piece, value in tokens],
    )


def _label(share):
    return next(label for label, least, _ in _SHARES if share >= least)
