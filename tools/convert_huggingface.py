"""Turn a Hugging Face folder of GPT-1 into a preset, or a preset into one.

python tools/convert_huggingface.py --input DIR --preset DIR
python tools/convert_huggingface.py --preset DIR --output DIR

  --input DIR    folder with config.json, model.safetensors (or several, or
                 pytorch_model.bin) and vocab.json, merges.txt (or
                 tokenizer.json), such as openai-community/openai-gpt
  --output DIR   folder that transformers' OpenAIGPTLMHeadModel and
                 AutoTokenizer load; rows of special tokens are left out
  --preset DIR   the preset: made of --input, or read for --output

What is made must be a new or empty folder; it appears when all is done. Exit
status: 0 done; 2 wrong arguments or input, in one line.
"""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from gpt1_keras.errors import InputError  # noqa: E402


def main(arguments):
    """Convert what `arguments` (list of str) name; return the exit status."""
    try:
        values = _parse(arguments)
        preset = pathlib.Path(values.preset)
        if values.input is not None:
            _import(pathlib.Path(values.input), preset)
        else:
            _export(preset, pathlib.Path(values.output))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _import(source, preset):
    if not source.is_dir():
        raise InputError(f"--input {source} is no folder")
    _check_new("--preset", preset)
    # These take seconds to import.
    from gpt1_keras.convert import huggingface
    from gpt1_keras.runs import presets

    model = huggingface.read(source)
    _make("--preset", preset, lambda: presets.save(model, preset))
    _report(preset, model.backbone)


def _export(preset, output):
    _check_new("--output", output)
    from gpt1_keras.convert import huggingface
    from gpt1_keras.models import causal_lm
    from gpt1_keras.runs import presets

    model = presets.load(causal_lm.GPT1CausalLM, presets.find(preset))
    _make("--output", output, lambda: huggingface.write(model, output))
    _report(output, model.backbone)


def _check_new(option, path):
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{option} {path} is there already: give a new folder")


def _make(option, path, write):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise InputError(
            f"{option} {path} cannot be written ({_reason(error)})"
        ) from None


def _reason(error):
    """Return one line: h5py's errors have several."""
    return error.strerror or str(error).strip().split("\n")[0]


def _report(path, network):
    print(
        f"{path}: {network.num_layers} layers, {network.num_heads} heads, "
        f"width {network.hidden_dim}, {network.max_sequence_length} positions, "
        f"{network.vocabulary_size} tokens"
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise InputError(f"{message} (see --help)")


def _parse(arguments):
    parser = _Parser(allow_abbrev=False, add_help=False)
    for name in ("--input", "--preset", "--output"):
        parser.add_argument(name)
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        sys.exit(0)
    values = parser.parse_args(arguments)
    if values.preset is None:
        parser.error("--preset is missing")
    if (values.input is None) == (values.output is None):
        parser.error("give either --input or --output")
    return values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
