"""Arguments and messages of the command-line tools."""

import argparse
import functools
import importlib.metadata
import logging
import os
import re
import sys

from gpt1_keras import errors
from gpt1_keras.errors import InputError


class Parser(argparse.ArgumentParser):
    """Parser that raises InputError and prints a module's docstring as help."""

    def __init__(self, document):
        super().__init__(allow_abbrev=False, add_help=False)
        self.document = document

    def parse(self, arguments):
        """Return the parsed arguments (list of str), or print the help."""
        if {"-h", "--help"} & set(arguments):
            print(self.document)
            sys.exit(0)
        values = self.parse_args(arguments)
        for name, value in vars(values).items():
            if isinstance(value, str) and not value.strip():
                self.error(f"--{name} is empty")
            if isinstance(value, str):  # No shell expands `--output=~/x`.
                setattr(values, name, os.path.expanduser(value))
        if not all(map(str.strip, arguments)):  # A path would be this folder.
            self.error("an argument is empty")
        return values

    def error(self, message):
        raise InputError(f"{message} (see --help)")


def positive(text, low=1):
    """Return a whole number of at least `low`; as `type` of an argument."""
    number = int(text)
    if number < low:
        raise argparse.ArgumentTypeError(
            f"{text}: give a number of at least {low}"
        )
    return number


def seed(text):
    """Return a whole number of at least 0; as `type` of an argument."""
    return positive(text, low=0)


def share(text):
    """Return a number of at least 0, below 1; as `type` of an argument."""
    number = float(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(
            f"{text}: give a share of at least 0 and below 1"
        )
    return number


def tool(work):
    """Make of `work(arguments)` a function that returns the exit status.

    It is that of `work`, or 0 if `work` returns None.
    """

    @functools.wraps(work)
    def main(arguments):
        logging.basicConfig(format="%(message)s")  # for warnings
        try:
            return work(arguments) or 0
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, InputError):  # Code names parameters.
                message = re.sub(r"`(\w+?)(_dir)?`", r"--\1", str(error))
                error = InputError(message)
            if isinstance(error, KeyboardInterrupt):  # No tool has a workdir.
                error = errors.Stopped("stopped by SIGINT")
            return errors.report(error)

    return main


def version_of(package):
    """Return the installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_new(option, path):
    """Raise InputError unless the path is missing or an empty folder."""
    # The current folder, ".", cannot be replaced by a new one.
    is_empty = path.name and path.is_dir() and not any(path.iterdir())
    if path.exists() and not is_empty:
        raise InputError(f"{option} {path} already exists: give a new folder")


def create(option, path, write):
    """Call `write()`, which creates `path`; an OSError becomes InputError."""
    try:
        write()
    except OSError as error:
        # h5py's messages have several lines.
        reason = error.strerror or str(error).strip().split("\n")[0]
        raise InputError(
            f"{option} {path} cannot be written ({reason}): give another"
        ) from None


def report(path, network):
    """Print what was created and the sizes of the network."""
    print(
        f"{path}: {network.count_params():,} parameters, {network.num_layers} "
        f"layers, {network.num_heads} heads, width {network.hidden_dim}, "
        f"{network.max_sequence_length} positions, "
        f"{network.vocabulary_size:,} tokens"
    )
