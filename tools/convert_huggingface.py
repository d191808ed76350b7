"""Convert a Hugging Face folder of GPT-1 into a preset, or a preset into one.

python tools/convert_huggingface.py --input DIR --preset DIR
python tools/convert_huggingface.py --preset DIR --output DIR [--texts FILE]

  --input DIR    folder of a language model: config.json, model.safetensors
                 (or pytorch_model.bin) and vocab.json, merges.txt (or
                 tokenizer.json). A folder, not a hub id: nothing is
                 downloaded. To get one:
                 hf download openai-community/openai-gpt --local-dir DIR
  --output DIR   folder for transformers' OpenAIGPTLMHeadModel or, of a
                 classifier, OpenAIGPTForSequenceClassification, and for
                 AutoTokenizer; a pipeline needs truncation=True for texts
                 longer than the network, and cuts pairs of them otherwise
                 than this program, so that predictions differ
  --preset DIR   the preset: created from --input, or read for --output
  --texts FILE   with --output: count the lines of FILE (default: README.md) to
                 which the tokenizer in DIR and that of the preset give
                 different ids

The folder to create must be new or empty; it appears once complete. Exit
status: 0 done; 2 wrong arguments or input, explained in one line.
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
    for name in ("--input", "--preset", "--output", "--texts"):
        parser.add_argument(name)
    values = parser.parse(arguments)
    if values.preset is None:
        parser.error("--preset is missing")
    if (values.input is None) == (values.output is None):
        parser.error("give either --input or --output")
    is_import = values.input is not None
    if is_import and values.texts is not None:
        parser.error("--texts needs --output")
    if is_import and not pathlib.Path(values.input).is_dir():
        raise InputError(
            f"--input {values.input} is not a folder: hub ids are not "
            "downloaded; run `hf download openai-community/openai-gpt "
            "--local-dir DIR` and give that folder"
        )
    option = "--preset" if is_import else "--output"
    created = pathlib.Path(values.preset if is_import else values.output)
    command_line.check_new(option, created)
    # These take seconds to import.
    with console.without_noise():
        from gpt1_keras import files
        from gpt1_keras.convert import fast_tokenizer
        from gpt1_keras.convert import huggingface
        from gpt1_keras.models import causal_lm
        from gpt1_keras.models import task_model
        from gpt1_keras.runs import presets

    if is_import:
        model, write = huggingface.read(values.input), presets.save
    else:
        preset = presets.find(pathlib.Path(values.preset))
        kind = causal_lm.GPT1CausalLM
        if presets.has_head(preset):
            kind = task_model.GPT1TaskModel
        model = presets.load(kind, preset)
        write = huggingface.write
        name = values.texts or pathlib.Path(__file__).parents[1] / "README.md"
        texts = files.read_text("--texts", name).splitlines()
    command_line.create(option, created, lambda: write(model, created))
    command_line.report(created, model.backbone)
    if not is_import:
        tokenizer = model.preprocessor.tokenizer.pipeline
        fast = fast_tokenizer.build(tokenizer)
        count = sum(fast.encode(t).ids != tokenizer.encode(t) for t in texts)
        name = pathlib.Path(name).name
        print(
            f"{count:,} of {len(texts):,} lines of {name} get other token ids"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
