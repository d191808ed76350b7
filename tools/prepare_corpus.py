"""Tokenise .txt books into shards with an existing vocabulary.

python tools/prepare_corpus.py --vocabulary F [--merges F] --output DIR
                               [--held_out_fraction X] [--seed N]
                               [--held_out_books F] [--num_processes N]
                               [--beam RUNNER [--beam_option O ...]]
                               FILE_OR_FOLDER ...

  --vocabulary F         .json with --merges (byte pairs), or .txt (WordPiece)
  --output DIR           the prepared folder, to be set as CORPUS
  --held_out_fraction X  share of the books held out; default 0.03
  --seed N               selects the held-out books; default 0
  --held_out_books F     file that names the held-out books, one per line,
                         in place of the two options above
  --num_processes N      default: all processors if there is much text
  --beam RUNNER          encode on many machines with Apache Beam: FlinkRunner,
                         SparkRunner, DataflowRunner ..., or DirectRunner for
                         this machine; the shards are the same. All machines
                         must see the books and DIR
                         (pip install -r requirements-beam.txt)
  --beam_option O        option of the runner, such as --direct_num_workers=4;
                         repeatable: --beam_option=--region=europe

A killed command resumes where it stopped. Exit status: 0 done; 2 wrong
arguments or input, in one line.
"""

import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras.data import encode  # noqa: E402
from gpt1_keras.data import prepare  # noqa: E402
from gpt1_keras.data import split  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from gpt1_keras.text import tokenizer  # noqa: E402
from tools import command_line  # noqa: E402


@command_line.tool
def main(arguments):
    """Prepare the books named by `arguments`; return the exit status."""
    parser = command_line.Parser(__doc__)
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER")
    for name in ("vocabulary", "output"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("merges", "held_out_books", "beam"):
        parser.add_argument(f"--{name}")
    parser.add_argument(
        "--held_out_fraction", type=command_line.share, default=0.03
    )
    parser.add_argument("--beam_option", action="append")
    parser.add_argument("--seed", type=command_line.seed, default=0)
    parser.add_argument("--num_processes", type=command_line.positive)
    values = parser.parse(arguments)
    recipe = prepare.Recipe(
        tokenizer.Tokenizer.from_files(values.vocabulary, values.merges),
        held_out_fraction=values.held_out_fraction,
        split_seed=values.seed,
        held_out_books=split.read_names(values.held_out_books),
    )
    prepared = prepare.prepare(
        values.paths, values.output, recipe, distribute=_distribute(values)
    )
    print(f"{prepared.directory}: {prepared.summary()}")


def _distribute(values):
    """Return what encodes the pieces: processes here, or Beam."""
    if values.beam is not None:
        return encode.in_beam(values.beam, values.beam_option or [])
    if values.beam_option:
        raise InputError("--beam_option needs --beam (see --help)")
    return functools.partial(
        encode.in_processes, num_processes=values.num_processes
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
