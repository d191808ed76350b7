import subprocess
import sys
import time

import pytest

from gpt1_keras import files
from gpt1_keras.errors import InputError

HOLD = """
import pathlib, sys, time
from gpt1_keras.data import folder_lock
with folder_lock.exclusive(pathlib.Path(sys.argv[1]), wait=False):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(directory, seconds, root):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory), str(seconds)],
        stdout=subprocess.PIPE,
        cwd=root,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_one_process_at_a_time(tmp_path, request):
    with hold(tmp_path, 60, request.config.rootpath) as process:
        with pytest.raises(InputError, match=f"by process {process.pid}:"):
            with files.exclusive(tmp_path, wait=False):
                pass
        process.kill()
        process.wait()
        with files.exclusive(tmp_path, wait=False):
            pass  # a killed process holds nothing


def test_waits(tmp_path, request):
    with hold(tmp_path, 1.0, request.config.rootpath) as process:
        started = time.monotonic()
        with files.exclusive(tmp_path, wait=True):
            assert time.monotonic() - started > 0.3
            assert process.wait(10) == 0
