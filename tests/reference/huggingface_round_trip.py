"""transformers -> preset -> transformers at the size of GPT-1.

    python -m tests.reference.huggingface_round_trip

prints the largest differences of logits, and time and peak memory of both
conversions, each a process of its own. Needs 3 GB of memory and of disk.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from tests.reference import released_shards

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ids():
    """Three texts: a long one cannot see a position that does not exist."""
    draws = np.random.default_rng(0)
    return [draws.integers(0, 40478, (1, n)) for n in (3, 64, 512)]


def convert(*arguments):
    """Run the tool; return (seconds, megabytes at its peak)."""
    tool = ROOT / "tools" / "convert_huggingface.py"
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(tool), *map(str, arguments)],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 1024


def write_theirs(directory):
    """Save transformers' default network, random; return it."""
    import torch
    import transformers

    torch.manual_seed(0)
    model = transformers.OpenAIGPTLMHeadModel(transformers.OpenAIGPTConfig())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # New biases are zero and gains one, which would hide mistakes.
            if weight.ndim == 1:
                weight.add_(torch.randn_like(weight) * 0.1)
    model.save_pretrained(directory)
    released_shards.letters(40478).save(directory)
    (directory / "vocabulary.json").rename(directory / "vocab.json")
    return model.eval()


def their_logits(model):
    import torch

    with torch.no_grad():
        return [model(torch.tensor(x)).logits.numpy() for x in ids()]


def our_logits(preset):
    from gpt1_keras.models import causal_lm
    from tests.reference import small_models

    model = causal_lm.GPT1CausalLM.from_preset(str(preset))
    return [small_models.read(model(small_models.inputs(x))) for x in ids()]


def largest_difference(first, second):
    return max(float(np.abs(x - y).max()) for x, y in zip(first, second))


def measure(directory):
    """Go there and back in `directory`; return what was found, a dict."""
    import transformers

    directory = pathlib.Path(directory)
    model = write_theirs(directory / "theirs")
    before = their_logits(model)
    weights = {
        name: w.detach().numpy() for name, w in model.state_dict().items()
    }
    preset, back = directory / "preset", directory / "back"
    came = convert("--input", directory / "theirs", "--preset", preset)
    went = convert("--preset", preset, "--output", back)
    again = transformers.OpenAIGPTLMHeadModel.from_pretrained(back).eval()
    unequal = [
        name
        for name, weight in again.state_dict().items()
        if not np.array_equal(weight.numpy(), weights.pop(name))
    ]
    return {
        "parameters": model.num_parameters(),
        "std_of_logits": float(np.std(before[1])),
        "difference_in_keras": largest_difference(before, our_logits(preset)),
        "difference_after_both": largest_difference(
            before, their_logits(again)
        ),
        "unequal_weights": unequal + list(weights),
        "in_seconds": came[0],
        "in_megabytes": came[1],
        "out_seconds": went[0],
        "out_megabytes": went[1],
    }


def main():
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measure(directory), indent=1))


if __name__ == "__main__":
    main()
