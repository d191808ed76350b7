import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def arguments(gin_files, workdir, **settings):
    """Return a command line of `gpt1_keras.main`; no workdir where None."""
    found = ["--workdir", str(workdir)] if workdir else []
    for name in gin_files:
        found += ["--gin", name]
    for name, value in settings.items():
        found += ["--set", f"{name} = {value!r}"]
    return found


def python(*arguments, cwd=ROOT, given="", **environment):
    """Run Python on a standard input; return what `subprocess.run` does."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
    )
