"""Contenders for the same work, timed in turns on a machine that is not idle.

Every round times each contender once, one after the other, and the ratio of
two is the median over the rounds: what slows the machine down for a while
slows both.
"""

import statistics
import time


def run(contenders, *, rounds, work, peer_of):
    """Time functions and compare.

    Args:
        contenders: dict from name to a function without arguments, or to
            None where it is not installed.
        rounds: int.
        work: number, what one call does (tokens, for instance).
        peer_of: str, the contender that the others are compared with.

    Returns:
        (dict of what was measured, dict from name to what the last call
        returned). Measured are per name `per_second`, the median, and
        `first_seconds` of the first call, with all that is compiled in it;
        `ratios` says how many times as fast as each other one `peer_of` is.
    """
    present = {name: call for name, call in contenders.items() if call}
    answers, first, seconds = {}, {}, {name: [] for name in present}
    for name, call in present.items():
        first[name], answers[name] = timed(call)
    for _ in range(rounds):
        for name, call in present.items():
            elapsed, answers[name] = timed(call)
            seconds[name].append(elapsed)
    return {
        "per_second": {
            name: work / statistics.median(seconds[name]) if call else None
            for name, call in contenders.items()
        },
        "first_seconds": first,
        "ratios": {
            name: statistics.median(
                theirs / ours
                for theirs, ours in zip(seconds[name], seconds[peer_of])
            )
            for name in present
            if name != peer_of
        },
    }, answers


def timed(call, *arguments, **options):
    """Call; return (seconds it took, what it returned)."""
    started = time.perf_counter()
    answer = call(*arguments, **options)
    return time.perf_counter() - started, answer
