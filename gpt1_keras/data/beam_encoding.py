"""Pieces of books to ids on many machines: `encode_pieces` by Apache Beam.

Each piece becomes a file in a folder that all machines see, and the process
that prepares the corpus reads these files in order and removes them, so the
shards are those of a single machine. A piece that Beam gives to two workers,
or that an earlier pipeline encoded before it was killed, is the same file.

Books, tokenizer and folder must be on a file system of all machines, and this
package installed on each.
"""

import hashlib
import json
import os
import re
import shutil
import uuid

import numpy as np

from gpt1_keras import files
from gpt1_keras.data import encode
from gpt1_keras.errors import InputError

FOLDER = ".pieces"
_REMEDY = "pip install -r requirements-beam.txt"


class BeamEncoding:
    """Takes the place of `encode.encode_pieces`.

    Args:
        folder: pathlib.Path, made if need be and removed in the end.
        runner: str, such as "DirectRunner", "FlinkRunner", "DataflowRunner".
        options: list of str, the runner's own, such as
            "--direct_num_workers=4".

    Raises:
        InputError: Beam is not installed, or has no such runner.
    """

    def __init__(self, folder, *, runner, options=()):
        self._folder = folder
        self._beam = _import_beam()
        try:
            self._beam.runners.create_runner(runner)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"--beam {runner} cannot be used "
                f"({str(error).splitlines()[0]}): give DirectRunner or "
                "another of Apache Beam's"
            ) from None
        self._options = [f"--runner={runner}", *options]

    def __call__(self, tasks, tokenizer, dtype):
        """Yield what `encode.encode_piece` returns, in the order of `tasks`.

        Args:
            tasks: list of (scanning.Source, books.Piece).
            tokenizer: Tokenizer, which the workers get by pickle.
            dtype: "uint16" or "uint32".

        Raises:
            InputError: a file has changed since it was checked.
        """
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
            # On the next call these ids are in the shards.
            yield np.frombuffer(content[8:], _on_disk(dtype)), words
            path.unlink()
        # With what a killed pipeline left.
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
        except Exception as error:  # Each runner wraps it in its own kind.
            found = re.search(r"InputError: ([^\[\n]+)", str(error))
            if found is None:
                raise
            raise InputError(found[1].strip()) from None


def write_piece(named_task, tokenizer, dtype):
    """Encode one piece into its file; called by Beam's workers.

    Args:
        named_task: (path, (scanning.Source, books.Piece)).
        tokenizer, dtype: as for `encode.encode_piece`.
    """
    path, (source, piece) = named_task
    ids, words = encode.encode_piece(source, piece, tokenizer, dtype)
    count = np.array([words], "<i8").tobytes()
    # Two machines may have processes of one number.
    own = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    files.write_atomic(own, count + ids.astype(_on_disk(dtype)).tobytes())
    os.replace(own, path)


def _on_disk(dtype):
    return np.dtype(dtype).newbyteorder("<")


def _name(task, tokenizer):
    """Return a name that no other piece, text or tokenizer has."""
    source, piece = task
    identity = [source.name, source.sha256, piece.start, piece.end]
    text = json.dumps([*identity, tokenizer.sha256], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _import_beam():
    try:
        import apache_beam
    except ImportError:
        raise InputError(
            f"--beam needs apache-beam, which is not installed: {_REMEDY}"
        ) from None
    return apache_beam
