"""Run functions that only record what main gave them."""

import errno
import json
import os
import signal
import sys

from gpt1_keras import checks
from gpt1_keras import errors

GIN = """\
from __gin__ import dynamic_registration
from tests.reference import recorded_run

RUN = @recorded_run.record
STEPS = 10
SEED = 0
SPARE = 1
LOG_STEPS = 1

recorded_run.record:
  steps = %STEPS
  build = @recorded_run.product
  log_steps = %LOG_STEPS

recorded_run.product.factor = %SEED
"""
FRAMEWORKS = {"keras", "tensorflow", "torch", "jax"}


def record(
    *,
    workdir,
    config_sha256,
    steps,
    build=None,
    log_steps: checks.NotRecipe[int] = 1,
):
    """Write the arguments to workdir/arguments.json."""
    arguments = {
        "workdir": str(workdir),
        "config_sha256": config_sha256,
        "steps": steps,
        "built": build() if build else None,
        "log_steps": log_steps,
        "frameworks": sorted(FRAMEWORKS & sys.modules.keys()),
    }
    (workdir / "arguments.json").write_text(json.dumps(arguments))
    return workdir / "arguments.json"


def product(*, factor):
    return 3 * factor


def refuse(*, workdir, vocabulary):
    """Refuse any vocabulary but "good"."""
    if vocabulary != "good":
        raise errors.InputError(f"{vocabulary}: does not fit; take good")
    (workdir / "done").write_text("")


def stop(*, workdir):
    """End as a run does that a signal stopped."""
    raise errors.Stopped(f"checkpoint in {workdir}; the same command resumes")


def interrupt():
    """Receive Ctrl-C without having prepared for it."""
    # A shell's background job begins with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)


def diverge():
    """End as a run does whose loss is not finite."""
    raise errors.RunError("loss is nan")


def fail_to_write(*, error):
    """Meet an error of the file system."""
    number, path = {
        "full disk": (errno.ENOSPC, "out/x"),
        "no permission": (errno.EACCES, "out/x"),
        "no path": (errno.EIO, None),
    }[error]
    raise OSError(number, os.strerror(number), path)


def fail(*, workdir=None):
    """Fail as a defect does, with or without a workdir."""
    raise ZeroDivisionError("a defect")


def need_module():
    import module_that_is_nowhere  # noqa: F401
