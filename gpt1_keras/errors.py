"""The exceptions that `gpt1_keras.main` turns into an exit status and a line.

Every other exception is a defect of the program and shows its traceback.
"""


class _OneLine(Exception):
    """An exception whose message is one printable line."""

    def __init__(self, message=""):
        super().__init__(one_line(message))


class InputError(_OneLine, ValueError):
    """A mistake in arguments, gin files or input files: exit status 2.

    The message says what is wrong, where, and what to do.
    """


class RunError(_OneLine):
    """A run that cannot continue, such as a diverged loss: exit status 1.

    The message says what happened, what was kept, and what to do.
    """


class Stopped(_OneLine):
    """A run stopped by a signal after saving a checkpoint: exit status 3.

    The message says how to continue.
    """


def one_line(message):
    """Return a text without line breaks or control characters."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in str(message)
    )


def describe_os_error(error):
    """Return one line on an OSError: the path and what is wrong with it."""
    reason = error.strerror or str(error) or type(error).__name__
    path = f"{error.filename}: " if error.filename is not None else ""
    return one_line(f"{path}{reason}")
