"""Install the requirements that this Python lacks, and nothing else.

python tools/install_lacking.py [--dry_run]

For a machine with its own build of TensorFlow for its GPU or TPU, such as
Google Colab. Installed packages keep their versions, except that Keras,
KerasHub and KerasNLP get those of the requirements files.
Exit status: 0 done; 1 pip failed; 2 wrong arguments.

  --dry_run   print what would be installed
"""

import importlib.util
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import command_line  # noqa: E402

FILES = ("requirements-no-tensorflow.txt", "requirements.txt")
# Other versions of these are replaced.
PINNED = ("keras", "keras-hub", "keras-nlp")
# Installed without dependencies, which include another TensorFlow.
ALONE = ("keras-hub", "keras-nlp", "tensorflow-serving-api")
# Not installed where TensorFlow is: its own parts, and grain.
NOT_BESIDE_TENSORFLOW = ("tensorflow", "tensorflow-text", "tf-keras", "grain")


def lacking(text, version_of, *, has_tensorflow):
    """Return what to install: (with dependencies, without dependencies).

    Args:
        text: str, lines `name==version`.
        version_of: function of a name: the installed version, or None.
        has_tensorflow: bool, whether any TensorFlow can be imported.

    Returns:
        two lists of str such as "ftfy==6.3.1".
    """
    with_dependencies, alone = [], []
    for line in text.splitlines():
        name, _, version = line.strip().partition("==")
        if not version or name.startswith("#"):
            continue
        if has_tensorflow and name in NOT_BESIDE_TENSORFLOW:
            continue
        found = version_of(name)
        if found is None or (name in PINNED and found != version):
            into = alone if name in ALONE else with_dependencies
            into.append(line.strip())
    return with_dependencies, alone


@command_line.tool
def main(arguments):
    """Install what is missing; return the exit status."""
    parser = command_line.Parser(__doc__)
    parser.add_argument("--dry_run", action="store_true")
    values = parser.parse(arguments)
    needed = ([], [])
    for file in FILES:
        found = lacking(
            (ROOT / file).read_text("utf-8"),
            command_line.version_of,
            has_tensorflow=importlib.util.find_spec("tensorflow") is not None,
        )
        for names, more in zip(needed, found):
            names += [name for name in more if name not in names]
    for names, flags in zip(needed, ([], ["--no-deps"])):
        if not names:
            continue
        print("installing", *names, flush=True)
        if values.dry_run:
            continue
        command = [sys.executable, "-m", "pip", "install", "-q", *flags, *names]
        if status := subprocess.run(command).returncode:
            print(f"error: pip ended with status {status}", file=sys.stderr)
            return 1
    if not any(needed):
        print("nothing to install")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
