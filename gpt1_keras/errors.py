"""The exceptions that `gpt1_keras.main` turns into an exit status and a line.

The line says what is wrong, where, and what to do. `outcome` has lines for some
other exceptions, too. The rest are defects of the program, with a traceback.
"""

import contextlib
import os
import re
import sys
import traceback


class _OneLine(Exception):
    """An exception whose message is one printable line of bounded length."""

    def __init__(self, message=""):
        message = one_line(message)
        if len(message) > 1000:  # It quotes a long input.
            message = f"{message[:500]} ... {message[-300:]}"
        super().__init__(message)


class InputError(_OneLine, ValueError):
    """A mistake in arguments, gin files or input files: exit status 2."""


class RunError(_OneLine):
    """A run that cannot continue, such as a diverged loss: exit status 1."""


class Stopped(_OneLine):
    """A run stopped by a signal or by a lost worker: exit status 3."""

    def __init__(self, message, signal_name=None):
        super().__init__(message)
        self.signal_name = signal_name


def one_line(message):
    """Return a text without line breaks or control characters."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in str(message)
    )


def outcome(error):
    """Return (line or None for a defect, exit status) of an exception."""
    # Gin appends lines about the calls in between; the first is ours.
    line = str(error).split("\n")[0]
    status = 2
    if isinstance(error, Stopped):
        return line, 3
    if isinstance(error, KeyboardInterrupt):
        how = "with --workdir, the same command resumes"
        return f"stopped by {line or 'SIGINT'}; {how}", 3
    if isinstance(error, InputError | RunError):
        status = 2 if isinstance(error, InputError) else 1
    elif isinstance(error, ImportError) and missing_module(error):
        line = missing_module(error)
    elif line.startswith("Unable to import backend"):  # of a keras.json
        line += ": set KERAS_BACKEND to tensorflow, jax or torch"
    elif line.startswith("Could not determine home"):  # pathlib, in libraries
        line += " set the environment variable HOME"
    elif path := _keras_settings(error):
        line = f"{path}: {line}: correct or remove this file"
    elif isinstance(error, OSError):
        line = describe_os_error(error)
        line = line and f"{line}; correct this and repeat the same command"
    elif is_out_of_memory(error):
        line, status = "not enough memory: lower a batch size", 1
        line += " (in training MICROBATCH_SIZE), or use a smaller network"
    else:
        line = None
    return line and f"error: {one_line(line)}", status


def report(error):
    """Print an exception's line and return its status; raise a defect again."""
    if isinstance(error, BrokenPipeError):  # as with `| head`
        # Python flushes again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    line, status = outcome(error)
    if line is None:
        raise
    # After a KeyboardInterrupt inside `exec`, as of the dataclasses of a module
    # that is loading, CPython would exit with 130; another `exec` ends that.
    exec("")
    print(line, file=sys.stderr)
    return status


@contextlib.contextmanager
def after_signal(name):
    """Turn a library's failure after a signal into KeyboardInterrupt.

    A library may swallow the exception of a signal handler, or lose helper
    processes that the same signal ends, and then raise an error of its own.
    `name()` is the name of the signal, or None if none came.
    """
    try:
        yield
    except Exception as error:
        if name() and outcome(error)[0] is None:
            raise KeyboardInterrupt(name()) from None
        raise


def missing_module(error):
    """Return what to install after an ImportError, None if it is a defect."""
    message = str(error).split("\n")[0]
    # Without gin-config, `gin` is the repository's folder of gin files.
    missing = re.search(r"No module named '(\w+)'|from 'gin'", message)
    if missing is None:
        return None
    if missing[1] in sys.stdlib_module_names:
        return f"{message}: use Linux or macOS; on Windows, WSL"
    extra = "-demo" if missing[1] == "gradio" else ""
    remedy = f"pip install -r requirements{extra}.txt"
    if missing[1] in ("tensorflow", "jax", "torch"):
        remedy += ", or set KERAS_BACKEND to a backend that is installed"
    return f"{message}: {remedy}"


def _keras_settings(error):
    """Return the path of the `keras.json` in which Keras found an error."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1].f_globals.get("_config_path") if frames else None


def is_out_of_memory(error):
    """Return whether a device or the machine could not allocate a tensor."""
    # TensorFlow, torch on a GPU, numpy; JAX, torch on a CPU.
    kinds = {"ResourceExhaustedError", "OutOfMemoryError", "MemoryError"}
    texts = ("RESOURCE_EXHAUSTED", "can't allocate mem")
    is_kind = any(each.__name__ in kinds for each in type(error).__mro__)
    return is_kind or any(text in str(error) for text in texts)


def shortened(text):
    """Return a text as messages quote it: a long one ends in "..."."""
    return text if len(text) <= 80 else f"{text[:60]} ..."


def describe_os_error(error):
    """Return "path: what is wrong with it", None if a library raised it."""
    chain = []  # Gin's proxy has no errno.
    while isinstance(error, OSError):
        chain += [error] if error.errno is not None else []
        error = error.__context__
    if not chain:
        return None
    # On a full disk, closing a file raises an error whose context has the name.
    same = (e for e in chain if e.errno == chain[0].errno and e.filename)
    error = next(same, chain[0])
    name = error.filename2 or error.filename  # of a rename, the target
    path = f"{name}: " if name is not None else ""
    return one_line(f"{path}{error.strerror}")
