"""Train a vocabulary on .txt books.

python tools/train_tokenizer.py --type bpe|wordpiece --vocabulary_size N
                                --output DIR [--num_processes N]
                                FILE_OR_FOLDER ...

  --type bpe         writes vocabulary.json and merges.txt, in the format of
                     OpenAI's release
  --type wordpiece   writes vocabulary.txt, one piece per line
  --vocabulary_size N  number of entries, without the three special tokens
  --output DIR       a folder without a vocabulary in it
  --num_processes N  default: all processors if there is much text

Books are cleaned as by tools/prepare_corpus.py; folders are searched
recursively. Exit status: 0 done; 2 wrong arguments or input, in one line.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras import files  # noqa: E402
from gpt1_keras.data import books  # noqa: E402
from gpt1_keras.data import encode  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from gpt1_keras.text import subwords  # noqa: E402
from gpt1_keras.text import train_vocabulary  # noqa: E402
from gpt1_keras.text import words  # noqa: E402
from tools import command_line  # noqa: E402


@command_line.tool
def main(arguments):
    """Learn the vocabulary asked for; return the exit status."""
    parser = command_line.Parser(__doc__)
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument(
        "--type", choices=list(train_vocabulary.TRAINERS), required=True
    )
    parser.add_argument("--output", required=True)
    number = command_line.positive
    parser.add_argument("--vocabulary_size", type=number, required=True)
    parser.add_argument("--num_processes", type=number)
    values = parser.parse(arguments)
    output = pathlib.Path(values.output)
    _check_output(output)
    with files.exclusive(output):
        _train(values, output)


def _train(values, output):
    found, skipped = books.check_all(books.find_books(values.paths))
    counts = encode.count_words(found, num_processes=values.num_processes)
    num_words = counts.total() - counts[words.NEWLINE]
    print(
        f"learning {values.vocabulary_size} entries from {num_words} words "
        f"({len(counts)} different) of {len(found)} books",
        file=sys.stderr,
        flush=True,
    )
    tokenizer = train_vocabulary.TRAINERS[values.type](
        counts,
        vocabulary_size=values.vocabulary_size,
        show_progress=sys.stderr.isatty(),
    )
    tokenizer.save(output)
    if tokenizer.vocabulary_size < values.vocabulary_size:
        print(
            f"{values.vocabulary_size} entries were asked for, but the text "
            f"yields only {tokenizer.vocabulary_size}"
        )
    print(
        f"{output}: {tokenizer.vocabulary_size} entries ({tokenizer.type}) "
        f"from {len(found)} books, {len(skipped)} files skipped"
    )


def _check_output(output):
    for name in subwords.NAMES:
        if (output / name).exists():
            raise InputError(
                f"--output {output} already holds a {name}: choose another "
                "folder, or remove it"
            )
    files.make_folder(output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
