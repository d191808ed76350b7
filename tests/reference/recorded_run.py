"""Run functions that only record what main gave them."""

import errno
import gc
import json
import os
import signal
import sys
import time

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


def record(
    *,
    workdir,
    config_sha256,
    steps,
    build=None,
    log_steps: checks.NotRecipe[int] = 1,
):
    """Write the arguments to workdir/arguments.json."""
    frameworks = {"keras", "tensorflow", "torch", "jax"}
    arguments = {
        "workdir": str(workdir),
        "config_sha256": config_sha256,
        "steps": steps,
        "built": build() if build else None,
        "log_steps": log_steps,
        "frameworks": sorted(frameworks & sys.modules.keys()),
    }
    (workdir / "arguments.json").write_text(json.dumps(arguments))
    return workdir / "arguments.json"


def product(*, factor):
    return 3 * factor


def sgd(**anything):
    """Build an optimizer of the user's own."""
    import keras

    return keras.optimizers.SGD(0.1)


def refuse(*, workdir, vocabulary):
    """Refuse any vocabulary but "good"."""
    if vocabulary != "good":
        raise errors.InputError(f"{vocabulary}: does not fit; take good")
    (workdir / "done").write_text("")


def move(*, workdir, fails):
    """Lose the workdir, as when a user moves it, and go on in a new one."""
    workdir.rename(workdir.with_name("moved"))
    workdir.mkdir()
    (workdir / "result.json").write_text("{}")
    if fails:
        raise FileNotFoundError(errno.ENOENT, "No such file", str(workdir))


def interrupt(*, name, collecting):
    """Receive a signal without having prepared for it."""
    # A shell's background job begins with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def send(*unused):
        gc.callbacks[:] = (c for c in gc.callbacks if c is not send)
        os.kill(os.getpid(), signal.Signals[name])

    if collecting:  # where Python ignores what a callback raises
        gc.callbacks.append(send)
        gc.collect()
        time.sleep(10)
    send()


def swallow():
    """Lose a signal and fail for it, as Keras can by a bare `except`."""
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt:
        raise TypeError("lost") from None


def fail(*, workdir=None, error):
    """End as a run does that meets one of these."""
    raise {
        "signal": errors.Stopped("checkpoint in w; the same command resumes"),
        "loss": errors.RunError("loss is nan"),
        "memory": MemoryError(),
        "full disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out/x"),
        "no path": OSError(errno.EIO, os.strerror(errno.EIO)),
        "module": ModuleNotFoundError(
            "No module named 'absent'", name="absent"
        ),
        "defect": ZeroDivisionError("a defect"),
    }[error]
