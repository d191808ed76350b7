"""Learn a vocabulary from .txt books.

python tools/train_tokenizer.py --type bpe|wordpiece --vocabulary_size N
                                --output DIR FILE_OR_FOLDER ...

  --type bpe         writes vocabulary.json and merges.txt, in the form OpenAI
                     released them
  --type wordpiece   writes vocabulary.txt, one piece a line
  --vocabulary_size N  entries wanted, without the three special tokens
  --output DIR       a folder without a vocabulary in it
  --num_processes N  default: all processors

Books are cleaned as tools/prepare_corpus.py does it; folders are searched
with all their subfolders. Exit status: 0 done; 2 wrong arguments or input, in
one line.
"""

import collections
import multiprocessing
import os
import pathlib
import sys
import threading
from concurrent import futures
from multiprocessing import connection

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from absl import flags  # noqa: E402

from gpt1_keras import console  # noqa: E402
from gpt1_keras.data import books  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from gpt1_keras.text import train_vocabulary  # noqa: E402  # noqa: E402
from gpt1_keras.text import vocabulary_files  # noqa: E402
from gpt1_keras.text import words  # noqa: E402

_TRAINERS = {
    "bpe": train_vocabulary.train_bpe,
    "wordpiece": train_vocabulary.train_wordpiece,
}
_PIECE_BYTES = 1 << 22
_ALONE_BYTES = 1 << 23  # less text than this is not worth a second process

_worker = {}


def main(arguments):
    """Learn what `arguments` (list of str) name; return the exit status."""
    try:
        values, paths = _parse(arguments)
        if values.help:
            print(__doc__)
        else:
            _train(values, paths)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _train(values, paths):
    output = pathlib.Path(values.output)
    _check_output(output)
    found, num_skipped = _readable(books.find_books(paths))
    counts = _count(found, values.num_processes or os.cpu_count())
    num_words = counts.total() - counts[words.NEWLINE]
    print(
        f"learning {values.vocabulary_size} entries from {num_words} words "
        f"({len(counts)} different) of {len(found)} books",
        file=sys.stderr,
        flush=True,
    )
    tokenizer = _TRAINERS[values.type](
        counts,
        vocabulary_size=values.vocabulary_size,
        show_progress=sys.stderr.isatty(),
    )
    tokenizer.save(output)
    if tokenizer.vocabulary_size < values.vocabulary_size:
        print(
            f"{values.vocabulary_size} entries were asked for, but the text "
            f"gives only {tokenizer.vocabulary_size}"
        )
    print(
        f"{output}: {tokenizer.vocabulary_size} entries ({tokenizer.type}) "
        f"from {len(found)} books, {num_skipped} files skipped"
    )


def _check_output(output):
    if output.exists() and not output.is_dir():
        raise InputError(f"--output {output} is a file: give a folder")
    for name in vocabulary_files.NAMES:
        if (output / name).exists():
            raise InputError(
                f"--output {output} holds a {name} already: give another "
                "folder, or remove it"
            )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--output {output} cannot be made ({error.strerror}): give "
            "another folder"
        ) from None
    if not os.access(output, os.W_OK):
        raise InputError(f"--output {output} is not writable: give another")


def _readable(found):
    """Return the paths of whole books, and the number of broken files."""
    good, num_skipped = [], 0
    for path in found.values():
        try:
            books.check(path)
            good.append(path)
        except books.BrokenBook as error:
            num_skipped += 1
            print(f"skipped {path}: {error}", file=sys.stderr, flush=True)
    if not good:
        raise InputError("every file is broken: give .txt books")
    return good, num_skipped


def _count(paths, num_processes):
    """Return a Counter of the words of all books."""
    pieces = [
        (piece, books.head_width(path))
        for path in paths
        for piece in books.cut(path, _PIECE_BYTES)
    ]
    total = sum(piece.end - piece.start for piece, _ in pieces)
    counts = collections.Counter()
    with console.bar("counting words", total) as advance:
        if total < _ALONE_BYTES:
            num_processes = 1
        for piece, found in _count_pieces(pieces, num_processes):
            counts.update(found)
            advance(piece.end - piece.start)
    return counts


def _count_pieces(pieces, num_processes):
    """Yield (piece, its Counter), as they are done."""
    if num_processes == 1:
        _worker["counter"] = train_vocabulary.WordCounter()
        for piece, width in pieces:
            yield piece, _count_piece(piece, width)
        return
    pool = futures.ProcessPoolExecutor(
        num_processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
    )
    waiting = collections.deque(pieces)
    running = {}
    try:
        while waiting or running:
            while waiting and len(running) < 2 * num_processes:
                piece, width = waiting.popleft()
                running[pool.submit(_count_piece, piece, width)] = piece
            done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker():
    _worker["counter"] = train_vocabulary.WordCounter()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    # A killed parent cannot stop its workers.
    connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _count_piece(piece, width):
    text = "\n".join(books.read_piece(piece, width))
    return _worker["counter"].count([text])


def _parse(arguments):
    """Return (absl's flag values, list of the other arguments)."""
    values = flags.FlagValues()
    flags.DEFINE_enum(
        "type", None, list(_TRAINERS), "see above", flag_values=values
    )
    flags.DEFINE_string("output", None, "see above", flag_values=values)
    for name in ("vocabulary_size", "num_processes"):
        flags.DEFINE_integer(
            name, None, "see above", lower_bound=1, flag_values=values
        )
    flags.DEFINE_boolean(
        "help", False, "see above", short_name="h", flag_values=values
    )
    try:
        paths = values(["train_tokenizer", *arguments])[1:]
    except flags.Error as error:
        line = " ".join(str(error).split("\n")[0].split())
        raise InputError(f"{line} (see --help)") from None
    if not values.help:
        for name in ("type", "vocabulary_size", "output"):
            if not values[name].value:
                raise InputError(f"--{name} is missing (see --help)")
        if not paths:
            raise InputError("no FILE_OR_FOLDER is given (see --help)")
    return values, paths


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
