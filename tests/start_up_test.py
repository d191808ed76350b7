import logging
import os

import pytest

from gpt1_keras import console

NOISE = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written
I0000 00:00:1795232388.034570   13370 port.cc:153] oneDNN custom operations
To enable the following instructions: AVX2, rebuild TensorFlow
"""


def test_noise_is_dropped_and_the_rest_passed_on(capfd):
    with console.without_noise():
        os.write(2, NOISE + b"E0000 an error\nWARNING: about something\n")
        assert capfd.readouterr().err == ""
    os.write(2, NOISE[:7] + b"\n")
    assert capfd.readouterr().err == (
        "E0000 an error\nWARNING: about something\nWARNING\n"
    )


def test_exception_passes_and_stderr_is_restored(capfd):
    with pytest.raises(ZeroDivisionError):
        with console.without_noise():
            os.write(2, b"before\n")
            1 / 0
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "before\nafter\n"


def test_only_the_note_on_retracing_is_dropped(caplog):
    logger = logging.getLogger("tensorflow")
    before = list(logger.filters)
    for _ in range(2):  # As where several runs share a process.
        console.without_retracing_notes()
    assert len(logger.filters) == len({*before, *logger.filters})
    try:
        logger.warning(
            "%d out of the last %d calls to f triggered tf.function retracing.",
            5,
            6,
        )
        logger.warning("something else")
    finally:
        logger.filters[:] = before
    assert [record.message for record in caplog.records] == ["something else"]
