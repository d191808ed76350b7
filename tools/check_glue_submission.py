"""Check a zip of predictions before it goes to the GLUE server.

python tools/check_glue_submission.py FILE.zip

Checks the names of the eleven files, and their headers, numbers of rows,
indices and labels. Prints one line for each problem. Exit status: 0 no problem;
2 wrong arguments, or problems.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from gpt1_keras.evaluation import glue_submission  # noqa: E402
from tools import command_line  # noqa: E402


@command_line.tool
def main(arguments):
    """Check what `arguments` (list of str) name; return the exit status."""
    parser = command_line.Parser(__doc__)
    parser.add_argument("file", metavar="FILE.zip")
    path = parser.parse(arguments).file
    problems = glue_submission.check(path)
    for problem in problems:
        print(problem)
    if problems:
        return 2
    print(f"{path}: {len(glue_submission.FILES)} files, no problem")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
