"""Arguments and messages that the conversion tools share."""

import argparse
import sys

from gpt1_keras import errors


class Parser(argparse.ArgumentParser):
    """Parser that raises InputError and prints a module's docstring as help.

    Args:
        document: str. Text of `--help`.
    """

    def __init__(self, document):
        super().__init__(allow_abbrev=False, add_help=False)
        self.document = document

    def parse(self, arguments):
        """Return the parsed arguments (list of str), or print the help."""
        if {"-h", "--help"} & set(arguments):
            print(self.document)
            sys.exit(0)
        return self.parse_args(arguments)

    def error(self, message):
        raise errors.InputError(f"{message} (see --help)")


def run(convert, arguments):
    """Call `convert(arguments)`; return the exit status."""
    try:
        convert(arguments)
    except errors.InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def check_new(option, path):
    """Raise InputError unless the path is missing or an empty folder."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise errors.InputError(
            f"{option} {path} already exists: give a new folder"
        )


def create(option, path, write):
    """Call `write()`, which creates the path; name it if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        # h5py's messages have several lines.
        reason = error.strerror or str(error).strip().split("\n")[0]
        raise errors.InputError(
            f"{option} {path} cannot be written ({reason})"
        ) from None


def report(path, network):
    """Print what was created and the sizes of the network."""
    print(
        f"{path}: {network.count_params()} parameters, {network.num_layers} "
        f"layers, {network.num_heads} heads, width {network.hidden_dim}, "
        f"{network.max_sequence_length} positions, "
        f"{network.vocabulary_size} tokens"
    )
