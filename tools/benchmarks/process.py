"""A measurement in a process of its own, whose memory nothing else has used."""

import importlib
import json
import pathlib
import re
import signal
import subprocess
import sys

from gpt1_keras import errors
from tools import command_line

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(module, function, **arguments):
    """Call a module's function in a new process; return its dict.

    If the process fails, this one exits with its status: the error is printed.

    Args:
        module, function: str.
        **arguments: what JSON can hold.
    """
    code = f"import sys; sys.path.insert(0, {str(_ROOT)!r})\n"
    code += "from tools.benchmarks import process; process.main()"
    command = [sys.executable, "-c", code, module, function]
    with subprocess.Popen(
        [*command, json.dumps(arguments)], stdout=subprocess.PIPE
    ) as child:
        try:
            output, _ = child.communicate()
        except KeyboardInterrupt:  # The process gets Ctrl-C, too.
            child.wait()
            raise
        except SystemExit:  # SIGTERM, see `tools/benchmark.py`
            child.terminate()
            raise
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        remedy = "; free memory or choose a smaller --size"
        raise errors.RunError(
            f"{module} was ended by {name}{remedy * (name == 'SIGKILL')}"
        )
    if child.returncode:
        sys.stderr.write(output.decode())
        print(f"{module} failed", file=sys.stderr)
        sys.exit(child.returncode)
    return json.loads(output.splitlines()[-1])


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
