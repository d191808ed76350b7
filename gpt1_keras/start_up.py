"""Holds back what TensorFlow prints on import, whatever its log level."""

import contextlib
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
