"""Turn the weights that OpenAI released into a preset.

python tools/convert_openai.py --input DIR --preset DIR [--num_heads N]

  --input DIR     folder with params_shapes.json, params_0.npy to params_9.npy,
                  encoder_bpe_40000.json and vocab_40000.bpe, as in model/ of
                  github.com/openai/finetune-transformer-lm
  --preset DIR    a new or empty folder; it appears when all is done
  --num_heads N   attention heads; default: heads of 64 (12 at width 768)

Exit status: 0 done; 2 wrong arguments or input, in one line.
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
        _convert(_parse(arguments))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _convert(values):
    source, preset = pathlib.Path(values.input), pathlib.Path(values.preset)
    _check(source, preset)
    # These take seconds to import.
    from gpt1_keras.convert import openai
    from gpt1_keras.runs import presets

    model = openai.read(source, num_heads=values.num_heads)
    try:
        preset.parent.mkdir(parents=True, exist_ok=True)
        presets.save(model, preset)
    except OSError as error:
        raise InputError(
            f"--preset {preset} cannot be written ({_reason(error)})"
        ) from None
    network = model.backbone
    print(
        f"{preset}: {network.count_params()} weights, {network.num_layers} "
        f"layers, {network.num_heads} heads, width {network.hidden_dim}, "
        f"{network.max_sequence_length} positions, "
        f"{network.vocabulary_size} tokens"
    )


def _reason(error):
    """Return one line: h5py's errors have several."""
    return error.strerror or str(error).strip().split("\n")[0]


def _check(source, preset):
    if not source.is_dir():
        raise InputError(f"--input {source} is no folder")
    if preset.exists() and not (preset.is_dir() and not any(preset.iterdir())):
        raise InputError(
            f"--preset {preset} is there already: give a new folder"
        )


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise InputError(f"{message} (see --help)")


def _parse(arguments):
    parser = _Parser(allow_abbrev=False, add_help=False)
    parser.add_argument("--input", required=True)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--num_heads", type=int)
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        sys.exit(0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
