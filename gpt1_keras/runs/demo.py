"""A page on this machine to try a model on."""

import importlib.util
import math
import os
import socket

import keras
import keras_hub
from absl import logging
from keras import ops

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from gpt1_keras.models import inspection
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.tasks import task as task_lib

# -----------------------------------------------------------------------------
# What the demonstration page shows of a model.


class TaskAnswers:
    """A fine-tuned model that is asked about one example at a time.

    Args:
        preset: pathlib.Path of the preset.

    Attributes:
        task: str.
        inputs: names of what it reads: "text", "text_pair", "choices".
        is_score: bool, whether it answers with a number.
    """

    def __init__(self, preset):
        self._network = presets.load(task_model.GPT1TaskModel, preset)
        ours = self._preprocessor = self._network.preprocessor
        self.task = ours.task
        self._label_space = task_lib.label_space_of(ours)
        self.is_score = ours.score_range is not None
        self.inputs = transforms.SIGNATURES[ours.transform].fields

    def __call__(self, text, text_pair="", choices=()):
        """Return dict from a label to its probability; of a score a float.

        Args:
            text, text_pair: str.
            choices: list of str, at least one where it reads choices.
        """
        given = {"text": [text], "text_pair": [text_pair]}
        if "choices" in self.inputs:
            given["choices"] = [list(choices)]
        logits = ops.convert_to_numpy(
            self._network(self._preprocessor(given))["logits"]
        ).astype("float64")
        if self.is_score:
            return float(self._label_space.predict(logits)[0])
        names = self._label_space.class_names or [
            f"{i}: {choice}" for i, choice in enumerate(choices)
        ]
        (probabilities,) = self._label_space.probabilities(logits).tolist()
        return dict(zip(names, probabilities, strict=True))


class LanguageModelAnswers:
    """A language model that reads a text and goes on with it.

    Args:
        preset: pathlib.Path of the preset.
        seed: int, of what it writes.
    """

    def __init__(self, preset, seed):
        self._network = presets.load(causal_lm.GPT1CausalLM, preset)
        self._tokenizer = self._network.preprocessor.tokenizer.pipeline
        self._length = self._network.backbone.max_sequence_length
        self._opening = self._tokenizer.opening_id
        self._seed = seed

    def tokens(self, text):
        """Return the tokens of a text, each with its log-probability.

        Args:
            text: str; what is beyond the positions of the model is left out.

        Returns:
            list of (str, float).
        """
        ids = self._tokenizer.encode(text)[: self._length]
        if not ids:
            return []
        found = inspection.log_probabilities(
            self._network, ids, before=self._opening
        )
        pieces = [self._tokenizer.piece(index) for index in ids]
        return list(zip(pieces, found.tolist(), strict=True))

    def continued(self, text, num_tokens, temperature):
        """Yield a text that grows by one token at a time.

        Args:
            text: str.
            num_tokens: int.
            temperature: float, above 0.
        """
        ids = self._tokenizer.encode(text) or [self._opening]
        sampler = keras_hub.samplers.TopKSampler(
            k=min(40, self._tokenizer.vocabulary_size),
            temperature=temperature,
            seed=self._seed,
        )
        keras.utils.set_random_seed(self._seed)
        for token in generation.stream(
            self._network, list(ids), sampler, num_tokens=num_tokens
        ):
            ids.append(token)
            yield self._tokenizer.decode(ids)


# -----------------------------------------------------------------------------
# A page on this machine to try a model on.

_HOST = "127.0.0.1"
_FONT = ["system-ui", "sans-serif"]  # of the browser: nothing is fetched


def demo(*, preset: checks.Path | None, port: checks.Port, seed: checks.Seed):
    """Serve a page on 127.0.0.1 until Ctrl-C; write nothing.

    Args:
        preset: path of a fine-tuning or pretraining run, or of its preset;
            None for the one shipped.
        port: int; 0 takes a free one.
        seed: int, of what a language model writes.

    Raises:
        InputError: gradio is not installed, the port cannot be used, or
            there is no such preset.
    """
    _check_port(port)
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
    _stay_on_this_machine()
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
        InputError: the port cannot be used.
    """
    import gradio

    theme = gradio.themes.Default(font=_FONT, font_mono=["monospace"])
    try:
        _, address, _ = app.launch(
            server_name=_HOST,
            server_port=port or None,
            share=False,
            prevent_thread_lock=True,
            quiet=True,
            theme=theme,
        )
    except OSError as error:
        raise _unusable(port, error) from None
    return address


def _check_port(port):
    """Find out early, and why: gradio does not tell."""
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise _unusable(port, "it is no number from 0 to 65535")
    try:
        with socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((_HOST, port))
    except OSError as error:
        raise _unusable(port, error.strerror or error) from None


def _unusable(port, reason):
    return errors.InputError(
        f"PORT {port} cannot be used ({reason}): give another, or 0 for any"
    )


def _stay_on_this_machine():
    """Set what gradio reads of the environment, whatever it says.

    Nothing is reported to anybody, and gradio asks its own page, which it
    does before it says that the page is there, without a proxy.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    given = [os.environ.get(name, "") for name in ("no_proxy", "NO_PROXY")]
    hosts = [host.strip() for host in ",".join(given).split(",")]
    if "*" not in hosts:
        hosts = filter(None, dict.fromkeys([*hosts, _HOST, "localhost"]))
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(hosts)


def _task_page(gradio, preset, seed):
    del seed
    answers = TaskAnswers(preset)
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
    answers = LanguageModelAnswers(preset, seed)
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
        label="log-probability of each token, given those before it",
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
    """Return a sentence on the whole text, and each token with its value.

    A token is (piece and log-probability, label of its probability).
    """
    if not tokens:
        return "no text", []
    total = sum(value for _, value in tokens)
    perplexity = math.exp(-total / len(tokens))
    return (
        f"{len(tokens)} tokens, log-probability {total:.2f}, perplexity "
        f"{perplexity:.1f} per token",
        [
            (f"{piece}\N{NO-BREAK SPACE}{value:.1f}", _label(math.exp(value)))
            for piece, value in tokens
        ],
    )


def _label(share):
    return next(label for label, least, _ in _SHARES if share >= least)
