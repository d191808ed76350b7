"""SIGTERM and Ctrl-C as a wish that the run fulfils at the next update."""

import contextlib
import signal


class StopRequest:
    """Whether the process was asked to stop, and by which signal."""

    def __init__(self):
        self.signal_name = None

    def __bool__(self):
        return self.signal_name is not None


@contextlib.contextmanager
def catch():
    """Catch SIGTERM and SIGINT inside the block; a second one acts at once.

    Yields:
        a `StopRequest`.
    """
    request = StopRequest()
    previous = {}

    def handle(number, frame):
        request.signal_name = signal.Signals(number).name
        restore()

    def restore():
        for number, handler in previous.items():
            signal.signal(number, handler)

    for number in (signal.SIGTERM, signal.SIGINT):
        previous[number] = signal.signal(number, handle)
    try:
        yield request
    finally:
        restore()
