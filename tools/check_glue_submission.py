"""Check a zip of predictions before it goes to the GLUE server.

python tools/check_glue_submission.py FILE.zip

Checks the names of the eleven files, their headers, numbers of rows, indices
and labels, and prints one line for each problem. Exit status: 0 no problem;
2 wrong arguments, or problems.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras.errors import InputError  # noqa: E402
from gpt1_keras.evaluation import glue_submission  # noqa: E402


def main(arguments):
    """Check what `arguments` (list of str) name; return the exit status."""
    if "--help" in arguments or "-h" in arguments:
        print(__doc__)
        return 0
    try:
        path = _parse(arguments)
        problems = glue_submission.check(path)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    if problems:
        return 2
    print(f"{path}: {len(glue_submission.FILES)} files, no problem")
    return 0


def _parse(arguments):
    options = [word for word in arguments if word.startswith("-")]
    if options:
        raise InputError(f"unknown option {options[0]} (see --help)")
    if len(arguments) != 1:
        raise InputError(
            f"{len(arguments)} files are given: give one zip (see --help)"
        )
    return arguments[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
