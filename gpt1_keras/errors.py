"""The exceptions `gpt1_keras.main` turns into an exit code and one line."""


class InputError(ValueError):
    """A mistake in arguments, gin files or input files.

    The message is one line that says what is wrong, where, and what to do.
    `gpt1_keras.main` and the tools print it without a traceback and exit 2;
    every other exception is a defect of the program.
    """


class Stopped(Exception):
    """The run was stopped by a signal after saving a checkpoint.

    The message is one line that says how to go on; `gpt1_keras.main` prints
    it and exits 3.
    """
