"""Where the official files of a benchmark lie below DATA_DIR."""

import pathlib

from gpt1_keras import errors

SPLITS = ("train", "dev", "test")


def find(data_dir, names):
    """Return the first of the files or folders `names` that exists.

    Args:
        data_dir: path of DATA_DIR.
        names: list of str, paths below it, the usual one first.

    Raises:
        InputError: there is none of them.
    """
    for name in names:
        path = pathlib.Path(data_dir, name)
        if path.exists():
            return path
    raise errors.InputError(
        f"{pathlib.Path(data_dir, names[0])} does not exist: put the official"
        " files there, or set DATA_DIR to the folder that holds them"
    )


def check_split(split, known=SPLITS):
    """Raise InputError unless `split` is one of `known`."""
    if split not in known:
        raise errors.InputError(
            f"split {split!r} is none of {', '.join(known)}: take one of them"
        )
