"""Text generation: a language model continues a prompt."""

import sys
import typing

import keras
from absl import logging
from keras_hub import samplers

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from gpt1_keras.runs import presets
from gpt1_keras.text import subwords

_SAMPLERS = ("greedy", "random", "top_k", "top_p", "beam", "contrastive")
# They compare several candidates, so nothing can be shown before the end.
_NOT_STREAMED = ("beam", "contrastive")


def generate(
    *,
    preset: checks.Path | None,
    prompt: str,
    prompt_file: checks.Path | None,
    interactive: bool,
    num_tokens: checks.Count,
    num_texts: checks.Count,
    sampler: typing.Literal[*_SAMPLERS],
    temperature: checks.Positive,
    top_k: checks.Count,
    top_p: checks.UpToOne,
    num_beams: checks.Count,
    stop_at_newline: bool,
    seed: checks.Seed,
    dtype: checks.PredictionDtype,
):
    """Print `num_texts` continuations of a prompt; write nothing.

    The text of `prompt_file`, if given, is the prompt; with `interactive`,
    prompts are asked for until an empty one. With `stop_at_newline`, a text
    ends with its paragraph. Beam and contrastive search have `num_beams`
    candidates; gin/generate.gin describes the other settings of sampling.
    """
    keras.utils.set_random_seed(seed)
    if prompt_file is not None:
        prompt = files.read_text("`prompt_file`", prompt_file)
    directory = presets.find(preset)
    model = presets.load(causal_lm.GPT1CausalLM, directory, dtype=dtype)
    tokenizer = model.preprocessor.tokenizer.pipeline
    k, beams = (min(n, tokenizer.vocabulary_size) for n in (top_k, num_beams))
    warmth = {"temperature": temperature}
    build, arguments = {
        "greedy": (samplers.GreedySampler, {}),
        "random": (samplers.RandomSampler, warmth),
        "top_k": (samplers.TopKSampler, {"k": k, **warmth}),
        "top_p": (samplers.TopPSampler, {"p": top_p, **warmth}),
        "beam": (samplers.BeamSampler, {"num_beams": beams}),
        "contrastive": (samplers.ContrastiveSampler, {"k": beams}),
    }[sampler]
    chosen = build(**arguments)
    write = _print_whole if sampler in _NOT_STREAMED else _print_streamed
    newline = tokenizer.newline_id  # None if the vocabulary lacks it
    stop_ids = [newline] if stop_at_newline and newline is not None else []
    for each in _ask() if interactive else [prompt]:
        if each != each.lower():
            logging.info("the model reads and writes lower case only")
        ids = tokenizer.encode_prompt(each)
        unknown = ids.count(subwords.UNKNOWN_ID)
        subwords.warn_of_unknown("prompt", unknown, len(ids))
        try:
            for _ in range(num_texts):
                write(model, each, list(ids), chosen, num_tokens, stop_ids)
        except errors.InputError as error:
            if not interactive:
                raise
            print(f"error: {error}", file=sys.stderr)


def _ask():
    """Yield prompts from the terminal until an empty line or the end."""
    while True:
        print("prompt> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline().rstrip(b"\r\n")
        if not line:
            return
        yield line.decode(sys.stdin.encoding, "replace")


def _print_streamed(model, prompt, ids, sampler, num_tokens, stop_ids):
    """Print each word when the next one begins; until then it may change."""
    tokenizer, shown = model.preprocessor.tokenizer.pipeline, ""
    for chosen in generation.stream(
        model, ids, sampler, num_tokens=num_tokens, stop_ids=stop_ids
    ):
        if chosen in stop_ids:
            break
        ids.append(chosen)
        text = tokenizer.decode(ids)
        stable = text[: max(text.rfind(" "), text.rfind("\n"), 0)]
        # Later tokens may move the space at a quotation mark to its other side,
        # so a mark is printed only with the word after it.
        if len(stable) > len(shown) and stable[-1] not in "\"'_":
            print(stable[len(shown) :], end="", flush=True)
            shown = stable
    text = tokenizer.decode(ids)
    print(text[len(shown) :], flush=True)


def _print_whole(model, prompt, ids, sampler, num_tokens, stop_ids):
    length = len(ids) + num_tokens
    if length > model.backbone.max_sequence_length:
        raise errors.InputError(
            f"prompt and `num_tokens` are {length} tokens, but the model has"
            f" {model.backbone.max_sequence_length} positions: lower"
            " `num_tokens`, or set `sampler` to 'top_p', whose window slides"
        )
    if model.sampler is not sampler:
        model.compile(sampler=sampler, optimizer=None, loss=None)
    text = model.generate(prompt, length, stop_token_ids=stop_ids or None)
    print(text.removesuffix("\n") if stop_ids else text, flush=True)
