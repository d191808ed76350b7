"""Holds back what TensorFlow prints and nobody can act on."""

import contextlib
import datetime
import logging
import os
import re
import sys
import tempfile
import time

from rich import console
from rich import progress as rich_progress

# -----------------------------------------------------------------------------
# A progress bar with the remaining time, or plain lines without a terminal.

_SECONDS_BETWEEN_LINES = 20.0


@contextlib.contextmanager
def bar(description, total, *, done=0):
    """Show how much of `total` (bytes, tokens, updates ...) is done.

    Args:
        description: str. What is being done.
        total: int.
        done: int. How much was done before, by a run that is continued.

    Yields:
        A function `advance(amount, note="")`; the note is shown beside the
        bar, for instance the loss.
    """
    terminal = console.Console(stderr=True)
    if not terminal.is_terminal:
        yield _PlainLines(description, total, done).advance
        return
    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=20),
        rich_progress.TaskProgressColumn(),
        rich_progress.TextColumn("{task.fields[note]}"),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=terminal) as display:
        task = display.add_task(
            description, total=max(total, 1), completed=done, note=""
        )

        def advance(amount, note=""):
            display.update(task, advance=amount, note=note)

        yield advance


class _PlainLines:
    def __init__(self, description, total, done):
        self._description = description
        self._total = max(total, 1)
        self._done = self._before = done
        self._started = self._printed = time.monotonic()

    def advance(self, amount, note=""):
        self._done += amount
        now = time.monotonic()
        is_soon = now - self._printed < _SECONDS_BETWEEN_LINES
        if is_soon or self._done == self._before:
            return
        self._printed = now
        speed = (self._done - self._before) / (now - self._started)
        left = (self._total - self._done) / speed
        print(
            f"{self._description}: {100 * self._done / self._total:.0f} %"
            f"{', ' + note if note else ''}, about {duration(left)} left",
            file=sys.stderr,
            flush=True,
        )


def duration(seconds):
    """Return seconds as people read them: `0:01:30`, `2 days, 3:00:00`."""
    return str(datetime.timedelta(seconds=round(max(seconds, 0))))


# -----------------------------------------------------------------------------
# Holds back what TensorFlow prints and nobody can act on.

# Notes of its C++ code from before its own logging is set up.
_NOISE = re.compile(
    rb"I0000 |WARNING: All log messages before absl::InitializeLog"
    rb"|To enable the following instructions:"
)


@contextlib.contextmanager
def without_noise():
    """Pass on only those lines written to stderr inside that say something.

    They appear when the block ends, also by an exception.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)
            held.seek(0)
            for line in held:
                if not _NOISE.match(line):
                    os.write(2, line)


def without_retracing_notes():
    """Drop TensorFlow's warning that a function was traced several times.

    It counts every Learner's function as one and the same: a run that trains
    or scores with several of them does not trace any too often.
    """
    logging.getLogger("tensorflow").addFilter(_is_no_retracing_note)


def _is_no_retracing_note(record):
    return "triggered tf.function retracing" not in str(record.msg)
