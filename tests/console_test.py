import logging
import os

import pytest

from gpt1_keras import console


class Clock:
    """Stands in for the module `time`."""

    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    monkeypatch.setattr(console, "time", Clock())
    return console.time


def test_duration():
    for seconds, expected in (
        *((0, "0:00:00"), (-3, "0:00:00"), (59.6, "0:01:00")),
        *((3725, "1:02:05"), (2 * 86400 + 3 * 3600, "2 days, 3:00:00")),
    ):
        assert console.duration(seconds) == expected


def test_without_a_terminal_prints_a_line_now_and_then(clock, capsys):
    with console.bar("tokenising", 200) as advance:
        for _ in range(60):
            clock.now += 1.0
            advance(2)
    # 2 a second: a line after 20, 40 and 60 seconds.
    assert capsys.readouterr().err.splitlines() == [
        "tokenising: 20 %, about 0:01:20 left",
        "tokenising: 40 %, about 0:01:00 left",
        "tokenising: 60 %, about 0:00:40 left",
    ]
    with console.bar("training", 10) as advance:
        for loss in ("9.00", "8.00"):
            clock.now += 15
            advance(1, note=f"loss {loss}")
    expected = "training: 20 %, loss 8.00, about 0:02:00 left\n"
    assert capsys.readouterr().err == expected
    with console.bar("training", 100, done=40) as advance:
        clock.now += 30
        advance(20)
    # 40 left at 20 in 30 seconds; what was done before took no time here.
    assert capsys.readouterr().err == "training: 60 %, about 0:01:00 left\n"
    for total in (0, 5):  # nothing done
        with console.bar("training", total) as advance:
            clock.now += 100
            advance(0)
        assert capsys.readouterr() == ("", "")


def test_terminal_shows_percentage_and_note(monkeypatch, capsys):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with console.bar("training", 4, done=1) as advance:
        advance(1, note="loss 8.25")
    captured = capsys.readouterr()
    assert captured.out == ""
    for part in ("training", "50%", "loss 8.25", "0:00:00"):
        assert part in captured.err


NOISE = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written
I0000 00:00:1795232388.034570   13370 port.cc:153] oneDNN custom operations
To enable the following instructions: AVX2, rebuild TensorFlow
"""


def test_noise_is_dropped_and_the_rest_passed_on(capfd):
    with pytest.raises(ZeroDivisionError):
        with console.without_noise():
            os.write(2, NOISE + b"E0000 an error\nWARNING: about something\n")
            assert capfd.readouterr().err == ""
            1 / 0
    os.write(2, NOISE[:7] + b"\n")
    assert capfd.readouterr().err == (
        "E0000 an error\nWARNING: about something\nWARNING\n"
    )


def test_only_the_note_on_retracing_is_dropped(caplog):
    logger = logging.getLogger("tensorflow")
    before = list(logger.filters)
    for _ in range(2):  # As where several runs share a process.
        console.without_retracing_notes()
    assert len(logger.filters) == len({*before, *logger.filters})
    try:
        logger.warning("%d calls triggered tf.function retracing.", 5)
        logger.warning("something else")
    finally:
        logger.filters[:] = before
    assert [record.message for record in caplog.records] == ["something else"]
