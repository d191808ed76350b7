import types

import pytest

from tools.benchmarks import contest


class Clock:
    """Time that passes only where a contender says so."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    fake = types.SimpleNamespace(perf_counter=made.perf_counter)
    monkeypatch.setattr(contest, "time", fake)
    return made


def contender(clock, name, seconds, calls):
    left = list(seconds)

    def call():
        clock.now += left.pop(0)
        calls.append(name)
        return name.upper()

    return call


def test_in_turns_and_by_the_median(clock):
    calls = []
    found, answers = contest.run(
        {
            "ours": contender(clock, "ours", [9, 1, 2, 4], calls),
            # Three times as slow, whatever the machine does.
            "theirs": contender(clock, "theirs", [5, 3, 6, 12], calls),
            "absent": None,
        },
        rounds=3,
        work=10,
        peer_of="ours",
    )
    assert calls == ["ours", "theirs"] * 4
    assert answers == {"ours": "OURS", "theirs": "THEIRS"}
    assert found == {
        "per_second": {"ours": 5.0, "theirs": 10 / 6, "absent": None},
        "first_seconds": {"ours": 9, "theirs": 5},
        "ratios": {"theirs": 3.0},
    }
