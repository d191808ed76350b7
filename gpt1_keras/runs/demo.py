"""Local web page to try a model."""

import itertools
import os

import keras_hub
from absl import logging
from keras import ops

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import rows as rows_lib
from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib

_HOST = "127.0.0.1"
_NUM_EXAMPLES = 5
_FONT = ["system-ui", "sans-serif"]  # The browser's own: nothing is fetched.


def demo(*, preset: checks.Path | None, port: checks.Port, seed: checks.Seed):
    """Serve a page on 127.0.0.1 until Ctrl-C; write nothing.

    Port 0 chooses a free one; `seed` is that of generated text.
    """
    # So that gradio sends no usage reports, and uses no proxy for the request
    # that it makes to its own page.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    given = [os.environ.get(name) for name in ("no_proxy", "NO_PROXY")]
    hosts = ",".join(filter(None, [*given, _HOST, "localhost"]))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = hosts
    import gradio

    directory = presets.find(preset)
    with gradio.Blocks(title="gpt1_keras", analytics_enabled=False) as app:
        if presets.has_head(directory):
            _task_page(gradio, directory)
        else:
            _language_model_page(gradio, directory, seed)
    try:
        _, address, _ = app.launch(
            **_for_this_machine(),
            server_port=port or None,
            prevent_thread_lock=True,
            quiet=True,
            theme=gradio.themes.Default(font=_FONT, font_mono=["monospace"]),
        )
    except OSError:
        raise errors.InputError(
            f"`port` {port} cannot be used (another program uses it, or it is"
            " reserved): give another, or 0 for any"
        ) from None
    logging.info("open %s in a browser; Ctrl-C stops it", address)
    app.block_thread()


def _for_this_machine():
    """Return options of `launch` that refuse uploads and all other machines.

    Requests under the host name of another site are refused, too. Gradio
    prevents pages of other sites from reading the answers.
    """
    from starlette import middleware
    from starlette.middleware import trustedhost

    guard = middleware.Middleware(
        trustedhost.TrustedHostMiddleware, allowed_hosts=[_HOST, "localhost"]
    )
    return {
        "server_name": _HOST,
        "share": False,
        "max_file_size": 1,  # byte
        "app_kwargs": {"middleware": [guard]},
    }


class TaskAnswers:
    """Predictions of the fine-tuned model in a preset folder.

    `inputs` names its inputs: "text", and perhaps "text_pair" and "choices".
    """

    def __init__(self, preset):
        self._network = presets.load(task_model.GPT1TaskModel, preset)
        ours = self._preprocessor = self._network.preprocessor
        self._label_space = task_lib.label_space_of(ours)
        self.task = ours.task
        self.is_score = ours.score_range is not None
        self.class_names = ours.label_words
        benchmark = benchmarks.BENCHMARKS.get(self.task)
        if benchmark is not None and benchmark.class_meanings:
            meanings = zip(self.class_names, benchmark.class_meanings)
            self.class_names = [f"{name} ({means})" for name, means in meanings]
        self.inputs = transforms.SIGNATURES[ours.transform].fields

    def __call__(self, text, text_pair="", choices=()):
        """Return {label: probability}, or the score as a float."""
        given = {"text": [text], "text_pair": [text_pair]}
        if "choices" in self.inputs:
            given["choices"] = [list(choices)]
        logits = ops.convert_to_numpy(
            self._network(self._preprocessor(given))["logits"]
        ).astype("float64")
        if self.is_score:
            return float(self._label_space.predict(logits)[0])
        names = self.class_names or [
            f"{i}: {choice}" for i, choice in enumerate(choices)
        ]
        (probabilities,) = self._label_space.probabilities(logits).tolist()
        return dict(zip(names, probabilities, strict=True))


def _task_page(gradio, preset):
    answers = TaskAnswers(preset)
    about = [f"## {answers.task}\n`{preset}`"]
    if answers.class_names:
        about.append(f"Classes: {', '.join(answers.class_names)}")
    if scores := files.check_seal(preset).get("metrics"):
        about.append(f"On rows held out from training: {results.shown(scores)}")
    about.append("Texts are read in lower case.")
    gradio.Markdown("\n\n".join(about))
    labels = {
        "text": "text",
        "text_pair": "second text or question",
        "choices": "choices, one per line",
    }
    boxes = [gradio.Textbox(label=labels[x], lines=3) for x in answers.inputs]
    examples = _held_out(preset.parent / "dev.jsonl", answers.inputs)
    if examples:
        gradio.Examples(examples, boxes, label="rows held out from training")
    button = gradio.Button("predict", variant="primary")
    output = gradio.Label(label="score" if answers.is_score else "label")

    def answer(*values):
        given = dict(zip(answers.inputs, values, strict=True))
        if "choices" in given:
            lines = given["choices"].split("\n")
            given["choices"] = [line for line in lines if line.strip()]
            if not given["choices"]:
                raise gradio.Error("give at least one choice, one per line")
        found = answers(**given)
        return f"{found:.2f}" if answers.is_score else found

    button.click(answer, boxes, output, api_name="ask")


def _held_out(path, names):
    """Return a few of the user's own rows as lists of the inputs `names`."""
    if not path.exists():
        return []
    rows = itertools.islice(rows_lib.json_lines(path), _NUM_EXAMPLES)
    # Whoever edited the file may have damaged some.
    rows = [row for _, row in rows if isinstance(row, dict)]
    for row in rows:
        row["choices"] = "\n".join(map(str, row.get("choices") or ()))
    return [[row.get(name, "") for name in names] for row in rows]


def _language_model_page(gradio, preset, seed):
    network = presets.load(causal_lm.GPT1CausalLM, preset)
    tokenizer = network.preprocessor.tokenizer.pipeline

    def continued(text, num_tokens, temperature):
        """Yield the text and its continuation, one token longer each time."""
        ids = tokenizer.encode_prompt(text)
        sampler = keras_hub.samplers.TopKSampler(
            k=min(40, tokenizer.vocabulary_size),
            temperature=temperature,
            seed=seed,
        )
        for token in generation.stream(
            network, list(ids), sampler, num_tokens=num_tokens
        ):
            ids.append(token)
            yield tokenizer.decode(ids)

    gradio.Markdown(f"## language model\n`{preset}`")
    text = gradio.Textbox(
        label="text (read in lower case)",
        lines=4,
        value="It was a dark and stormy night",
    )
    with gradio.Row():
        number = gradio.Slider(8, 256, 64, precision=0, label="new tokens")
        temperature = gradio.Slider(0.1, 2.0, 0.8, label="temperature")
    button = gradio.Button("continue", variant="primary")
    written = gradio.Textbox(label="continuation", lines=6)
    inputs = [text, number, temperature]
    button.click(continued, inputs, written, api_name="continue")
