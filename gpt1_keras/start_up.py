"""Holds back what TensorFlow prints and nobody can act on."""

import contextlib
import logging
import os
import re
import sys
import tempfile

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
