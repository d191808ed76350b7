"""A measurement in a process of its own, whose memory nothing else has used."""

import importlib
import json
import pathlib
import re
import subprocess
import sys

from gpt1_keras.errors import InputError
from tools import command_line

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(module, function, **arguments):
    """Return the dict that `function(**arguments)` of `module` returns there.

    If that process fails, it has said why, and this one ends with its status.

    Args:
        module, function: str.
        **arguments: what JSON can hold.
    """
    code = "from tools.benchmarks import process; process.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, module, function, json.dumps(arguments)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
    )
    if done.returncode < 0:
        raise InputError(
            f"{module} was killed by signal {-done.returncode}: free memory,"
            " or choose a smaller size"
        )
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Call what the arguments of this process name; print what it returns."""
    sys.exit(_print_result(sys.argv[1:]))


@command_line.tool
def _print_result(arguments):
    module, function, options = arguments
    called = getattr(importlib.import_module(module), function)
    print(json.dumps(called(**json.loads(options))))


def peak():
    """Return the most memory that this process has used so far, in GB.

    On Linux; `ru_maxrss` would begin with the peak of the parent process.
    """
    status = pathlib.Path("/proc/self/status").read_text()
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kilobytes) * 1024 / 1e9
