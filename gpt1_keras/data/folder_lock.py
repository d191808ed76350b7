"""One process at a time works in a folder."""

import contextlib
import fcntl
import os

from absl import logging

from gpt1_keras.errors import InputError

_NAME = ".lock"


@contextlib.contextmanager
def exclusive(directory, *, wait):
    """Hold the folder's lock; the kernel frees it even after a kill.

    Args:
        directory: pathlib.Path of an existing folder.
        wait: bool, whether to wait for another process or to give up.

    Raises:
        InputError: another process holds the lock and `wait` is False.
    """
    with open(directory / _NAME, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            if not wait:
                raise InputError(
                    f"{directory} is being prepared by process {owner}: "
                    "wait for it or choose another folder"
                ) from error
            logging.info("waiting: process %s prepares %s", owner, directory)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
