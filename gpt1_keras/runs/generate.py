"""A language model continues a prompt, on the screen as it is written."""

import pathlib
import sys

import keras
import keras_hub

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from gpt1_keras.runs import presets
from gpt1_keras.training import fit

# Name -> KerasHub's sampler, {its argument: our setting}.
_STREAMED = {
    "greedy": (keras_hub.samplers.GreedySampler, {}),
    "random": (
        keras_hub.samplers.RandomSampler,
        {"temperature": "temperature"},
    ),
    "top_k": (
        keras_hub.samplers.TopKSampler,
        {"k": "top_k", "temperature": "temperature"},
    ),
    "top_p": (
        keras_hub.samplers.TopPSampler,
        {"p": "top_p", "temperature": "temperature"},
    ),
}
# These look at several continuations, so nothing can be shown before the end.
_WHOLE = {
    "beam": (keras_hub.samplers.BeamSampler, {"num_beams": "num_beams"}),
    "contrastive": (keras_hub.samplers.ContrastiveSampler, {"k": "num_beams"}),
}


def generate(
    *,
    preset: checks.Path | None,
    prompt: str,
    prompt_file: checks.Path | None,
    interactive: bool,
    num_tokens: checks.Count,
    num_texts: checks.Count,
    sampler: str,
    temperature: checks.Positive,
    top_k: checks.Count,
    top_p: checks.Probability,
    num_beams: checks.Count,
    stop_at_newline: bool,
    seed: checks.Seed,
    dtype: checks.Dtype,
):
    """Print continuations; write nothing.

    Args:
        preset: path of a preset, or None for the one shipped.
        prompt: str.
        prompt_file: path of a text file in place of the prompt, or None.
        interactive: bool. Ask for prompts until an empty one.
        num_tokens: int. Length of a continuation in tokens.
        num_texts: int. Continuations of each prompt.
        sampler: "greedy", "random", "top_k", "top_p", "beam" or
            "contrastive".
        temperature: float. Of random, top-k and top-p.
        top_k: int. Likeliest tokens that are drawn from.
        top_p: float. Probability that is drawn from.
        num_beams: int. Continuations that beam and contrastive compare.
        stop_at_newline: bool. Whether a text ends with its paragraph.
        seed: int.
        dtype: str, Keras dtype policy.
    """
    fit.set_dtype(dtype)
    keras.utils.set_random_seed(seed)
    chosen = _sampler(
        sampler,
        {
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "num_beams": num_beams,
        },
    )
    if prompt_file is not None:
        prompt = _read(prompt_file)
    checks.check("prompt", prompt, str)
    checks.check("num_tokens", num_tokens, checks.Count)
    checks.check("num_texts", num_texts, checks.Count)
    directory = presets.find(preset)
    tokenizer = presets.load_tokenizer(directory)
    model = presets.load(causal_lm.GPT1CausalLM, directory, dtype=dtype)
    if sampler == "top_k":
        chosen.k = min(top_k, tokenizer.vocabulary_size)
    write = _whole if sampler in _WHOLE else _streamed
    stop_ids = ()
    if stop_at_newline and tokenizer.newline_id is not None:
        stop_ids = (tokenizer.newline_id,)
    for each in _asked() if interactive else [prompt]:
        try:
            for _ in range(num_texts):
                write(model, tokenizer, each, chosen, num_tokens, stop_ids)
        except errors.InputError as error:
            if not interactive:
                raise
            print(f"error: {error}", file=sys.stderr)


def _sampler(name, settings):
    known = _STREAMED | _WHOLE
    if name not in known:
        raise errors.InputError(
            f"SAMPLER is {name!r}: give one of {', '.join(known)}"
        )
    for setting in ("temperature", "top_k", "num_beams", "top_p"):
        if not settings[setting] > 0:
            raise errors.InputError(
                f"{setting.upper()} is {settings[setting]}: give more than 0"
            )
    build, arguments = known[name]
    return build(**{key: settings[own] for key, own in arguments.items()})


def _read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InputError(
            f"PROMPT_FILE {path} cannot be read: {error}"
        ) from None


def _asked():
    """Yield prompts from the terminal until an empty line or its end."""
    while True:
        print("prompt> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline().rstrip("\n")
        if not line:
            return
        yield line


def _streamed(model, tokenizer, prompt, sampler, num_tokens, stop_ids):
    """Print word by word. What a later token may still change is held back:
    the last word."""
    ids = tokenizer.encode(prompt) or [tokenizer.opening_id]
    shown = ""
    for chosen in generation.stream(
        model, ids, sampler, num_tokens=num_tokens, stop_ids=stop_ids
    ):
        if chosen in stop_ids:
            break
        ids.append(chosen)
        text = tokenizer.decode(ids)
        stable = text[: max(text.rfind(" "), text.rfind("\n"), 0)]
        if stable.startswith(shown):
            print(stable[len(shown) :], end="", flush=True)
            shown = stable
    text = tokenizer.decode(ids)
    print(text[len(shown) :] if text.startswith(shown) else "", flush=True)


def _whole(model, tokenizer, prompt, sampler, num_tokens, stop_ids):
    """Print the text when it is all there."""
    ids = tokenizer.encode(prompt) or [tokenizer.opening_id]
    length = len(ids) + num_tokens
    if length > model.backbone.max_sequence_length:
        raise errors.InputError(
            f"prompt and NUM_TOKENS are {length} tokens, the model has "
            f"{model.backbone.max_sequence_length} positions: lower it, or "
            "take SAMPLER 'top_p', whose window slides"
        )
    model.compile(sampler=sampler, optimizer=None, loss=None)
    preprocessor, model.preprocessor = model.preprocessor, None
    padding = preprocessor.tokenizer.pad_token_id
    padded = [[*ids, *[padding] * num_tokens]]
    mask = [[1] * len(ids) + [0] * num_tokens]
    output = model.generate(
        {
            "token_ids": keras.ops.convert_to_numpy(padded).astype("int32"),
            "padding_mask": keras.ops.convert_to_numpy(mask).astype("int32"),
        },
        stop_token_ids=list(stop_ids) or None,
    )
    model.preprocessor = preprocessor
    found = keras.ops.convert_to_numpy(output["token_ids"])[0].tolist()
    for stop in stop_ids:
        if stop in found[len(ids) :]:
            found = found[: found.index(stop, len(ids))]
    print(tokenizer.decode(found), flush=True)
