"""Convert the weights that OpenAI released into a preset.

python tools/convert_openai.py --input DIR --preset DIR [--num_heads N]

  --input DIR     folder with params_shapes.json, params_0.npy to params_9.npy,
                  encoder_bpe_40000.json and vocab_40000.bpe, as in model/ of
                  github.com/openai/finetune-transformer-lm
  --preset DIR    a new or empty folder; it appears once complete
  --num_heads N   attention heads; default: width / 64 (12 for a width of 768)

Exit status: 0 done; 2 wrong arguments or input, explained in one line.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras import console  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from tools import command_line  # noqa: E402


@command_line.tool
def main(arguments):
    """Convert what `arguments` (list of str) name; return the exit status."""
    parser = command_line.Parser(__doc__)
    parser.add_argument("--input", required=True)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--num_heads", type=int)
    values = parser.parse(arguments)
    source, preset = pathlib.Path(values.input), pathlib.Path(values.preset)
    if not source.is_dir():
        raise InputError(f"--input {source} is not a folder: give its path")
    command_line.check_new("--preset", preset)
    # These take seconds to import.
    with console.without_noise():
        from gpt1_keras.convert import openai
        from gpt1_keras.runs import presets

    model = openai.read(source, num_heads=values.num_heads)
    command_line.create("--preset", preset, lambda: presets.save(model, preset))
    command_line.report(preset, model.backbone)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
