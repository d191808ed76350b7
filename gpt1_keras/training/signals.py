"""SIGTERM and Ctrl-C as a wish that the run fulfils at the next update."""

import contextlib
import signal


class StopRequest:
    """Whether the process was asked to stop, and by which signal."""

    def __init__(self):
        self.signal_name = None

    def __bool__(self):
        return self.signal_name is not None


class SharedStopRequest(StopRequest):
    """The wish of any of several workers, which all heed at one update.

    Args:
        asked: `StopRequest` of this process.
    """

    def __init__(self, asked):
        super().__init__()
        self._asked = asked

    @property
    def is_wished(self):
        """Whether this process was asked to stop."""
        return bool(self._asked)

    def settle(self, num_wishes):
        """Hear how many replicas' processes were asked to stop."""
        if num_wishes:
            own = self._asked.signal_name
            self.signal_name = own or "a signal to another worker"


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
