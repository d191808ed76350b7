"""Pieces of books to token ids on many machines, with Apache Beam.

Each piece becomes a file in a folder that all machines share. The process
that prepares the corpus reads the files in order and removes them, so the
shards are those of a single machine. A piece that Beam assigns to two workers,
or that a killed pipeline has already encoded, is the same file.

Books, tokenizer and folder must be on a file system that all machines share,
and this package must be installed on each.
"""

import os
import re
import shutil
import uuid

import numpy as np

from gpt1_keras import files
from gpt1_keras.data import encode
from gpt1_keras.errors import InputError

FOLDER = ".pieces"


class BeamEncoding:
    """Replaces `encode.encode_pieces`.

    Args:
        folder: pathlib.Path, created if needed and removed in the end.
        runner: str, such as "DirectRunner", "FlinkRunner", "DataflowRunner".
        options: list of str, such as "--direct_num_workers=4".
    """

    def __init__(self, folder, *, runner, options=()):
        self._folder = folder
        try:
            import apache_beam
        except ImportError:
            raise InputError(
                "--beam needs apache-beam, which is not installed: pip install "
                "-r requirements-beam.txt"
            ) from None
        self._beam = apache_beam
        try:
            self._beam.runners.create_runner(runner)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"--beam {runner} is not usable "
                f"({str(error).splitlines()[0]}): pass DirectRunner or another "
                "runner of Apache Beam"
            ) from None
        self._options = [f"--runner={runner}", *options]

    def __call__(self, tasks, tokenizer, dtype):
        """Yield what `encode.encode_pieces` does; its arguments."""
        self._folder.mkdir(exist_ok=True)
        paths = [self._folder / _name(task, tokenizer) for task in tasks]
        left = {
            path: task for path, task in zip(paths, tasks) if not path.exists()
        }
        if left:
            self._run(list(left.items()), tokenizer, dtype)
        for path in paths:
            content = path.read_bytes()
            words = int(np.frombuffer(content[:8], "<i8")[0])
            yield np.frombuffer(content[8:], _on_disk(dtype)), words
            # The caller asks for the next piece when this one is on the disk.
            path.unlink()
        # Including what a killed pipeline left.
        shutil.rmtree(self._folder)

    def _run(self, named_tasks, tokenizer, dtype):
        beam = self._beam
        options = beam.options.pipeline_options.PipelineOptions(self._options)
        try:
            with beam.Pipeline(options=options) as pipeline:
                _ = (
                    pipeline
                    | "pieces" >> beam.Create(named_tasks)
                    | "spread" >> beam.Reshuffle()
                    | "encode" >> beam.Map(write_piece, tokenizer, dtype)
                )
        except Exception as error:  # each runner wraps it in its own type
            found = re.search(r"InputError: ([^\[\n]+)", str(error))
            if found is None:
                raise
            raise InputError(found[1].strip()) from None


def write_piece(named_task, tokenizer, dtype):
    """Encode one piece into its file; called by the workers of Beam.

    `named_task` is (path, (books.Book, books.Piece)).
    """
    path, task = named_task
    ids, words = encode.encode_piece(tokenizer, dtype, *task)
    count = np.array([words], "<i8").tobytes()
    # Processes of two machines may have the same number.
    own = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    files.write_atomic(own, count + ids.astype(_on_disk(dtype)).tobytes())
    os.replace(own, path)


def _on_disk(dtype):
    return np.dtype(dtype).newbyteorder("<")


def _name(task, tokenizer):
    """Return a name that no other piece, text or tokenizer has."""
    book, piece = task
    identity = [book.name, book.sha256, piece.start, piece.end]
    return files.sha256_of_json([*identity, tokenizer.sha256])
