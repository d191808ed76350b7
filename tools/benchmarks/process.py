"""A measurement in a process of its own, whose memory nothing else has used."""

import importlib
import json
import pathlib
import re
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(module, **arguments):
    """Return the dict that `run(**arguments)` of `module` returns there.

    Args:
        module: str, the name of a module with a function `run`.
        **arguments: what JSON can hold.
    """
    code = "from tools.benchmarks import process; process.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, module, json.dumps(arguments)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Call what the arguments of this process name; print what it returns."""
    module, arguments = sys.argv[1], json.loads(sys.argv[2])
    print(json.dumps(importlib.import_module(module).run(**arguments)))


def peak():
    """Return the most memory that this process has used so far, in GB.

    On Linux; `ru_maxrss` would begin with the peak of the parent process.
    """
    status = pathlib.Path("/proc/self/status").read_text()
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kilobytes) * 1024 / 1e9
