import io
import sys

from gpt1_keras.data import progress


def test_plain_lines_tell_what_is_left(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.bar("reading", 300, done=100) as advance:
        now[0] = 5.0
        advance(40)  # too early for a line
        now[0] = 25.0
        advance(10)
    assert capsys.readouterr().err == "reading: 25 %, about 75 s left\n"


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.bar("reading", 200) as advance:
        advance(200)
    assert "reading" in terminal.getvalue() and "100%" in terminal.getvalue()


def test_nothing_to_do():
    with progress.bar("reading", 0) as advance:
        advance(0)
