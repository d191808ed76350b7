"""The terminal: a progress bar, and less noise from TensorFlow."""

import contextlib
import logging
import os
import re
import sys
import tempfile
import time

from rich import console
from rich import progress as rich_progress
from rich import text

_SECONDS_BETWEEN_LINES = 20.0
# The remaining time is shown after whichever comes first: before, compiling
# makes a run of three minutes look like one of half an hour.
_FIRST_PERCENT = 10
_FIRST_SECONDS = 120.0
# Messages of TensorFlow's C++ code from before its logging is set up.
_NOISE = re.compile(
    rb"I0000 |WARNING: All log messages before absl::InitializeLog"
    rb"|To enable the following instructions:"
)


class _Remaining(rich_progress.TimeRemainingColumn):
    """The remaining time; none while steps are still being compiled."""

    def render(self, task):
        return text.Text("-:--:--") if _is_early(task) else super().render(task)


def _is_early(task):
    is_short = task.elapsed < _FIRST_SECONDS
    return is_short and task.percentage < _FIRST_PERCENT


@contextlib.contextmanager
def bar(description, total, *, done=0):
    """Show the progress of a task and the remaining time.

    `total` is in any unit, and `done` the part that a killed run has finished.
    Without a terminal, and for a task of one unit, a line is printed every 20
    seconds instead of a bar. Yields the function `advance(amount, note="")`;
    the note, such as the loss, stands by the bar.
    """
    terminal = console.Console(stderr=True)
    is_bar = terminal.is_terminal and total > 1
    remaining = _Remaining()
    display = rich_progress.Progress(
        "{task.description}",
        rich_progress.BarColumn(bar_width=20),
        rich_progress.TaskProgressColumn(),
        "{task.fields[note]}",
        rich_progress.TimeElapsedColumn(),
        remaining,
        console=terminal,
    )
    task_id = display.add_task(
        description, total=max(total, 1), completed=done, note=""
    )
    (task,) = display.tasks
    printed = time.monotonic()

    def advance(amount, note=""):
        nonlocal printed
        # The first half is forgotten, in which slow first steps are compiled.
        display.speed_estimate_period = task.elapsed / 2
        display.update(task_id, advance=amount, note=note)
        is_soon = time.monotonic() - printed < _SECONDS_BETWEEN_LINES
        if is_bar or is_soon or task.time_remaining is None:
            return
        printed = time.monotonic()
        shown = [f"{description}: {task.percentage:.0f} %", note]
        if not _is_early(task):
            shown.append(f"about {remaining.render(task)} left")
        print(*filter(None, shown), sep=", ", file=sys.stderr, flush=True)

    with display if is_bar else contextlib.nullcontext():
        yield advance


@contextlib.contextmanager
def without_noise():
    """Hold what the block writes to stderr until its end; drop known noise."""
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


def is_of_interest(record):
    """Return whether a log record is ours, or the warning of a library.

    TensorFlow's warning about retracing is dropped: it counts the functions of
    all `Learner`s as one.
    """
    is_ours = record.pathname.startswith(os.path.dirname(__file__))
    is_library = "-packages" in record.pathname and not is_ours
    is_retracing = "triggered tf.function retracing" in str(record.msg)
    is_warning = record.levelno > logging.INFO
    return not is_retracing and (is_warning or not is_library)
