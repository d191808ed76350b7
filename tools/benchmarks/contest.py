"""Compare the speed of several ways to do the same work on a busy machine.

Every round times each contender once, one after the other, and a ratio is the
median over the rounds: a temporary slowdown of the machine affects both sides.
Some are timed apart, later, in turns with ours alone.
"""

import statistics
import time


def run(contenders, *, rounds, work, peer_of, apart=()):
    """Time functions and compare.

    Args:
        contenders: dict from name to a function without arguments, or to
            None if it is not installed.
        rounds: int.
        work: number, the work of one call, such as its number of tokens.
        peer_of: str, the contender that the others are compared with.
        apart: names of contenders that are timed after the others, in turns
            with `peer_of`, because they slow down what follows.

    Returns:
        (measurements, dict from name to the value of the last call). The
        measurements are dicts by name: `per_second`, the median speed, and
        `spread`, the lowest and the highest; `first_seconds` of the first
        call, compilation included; `ratios`, how many times as fast as each
        `peer_of` is, and `ratio_spread`. The speed of `peer_of` is the one in
        the turns with all others.
    """
    present = {name: call for name, call in contenders.items() if call}
    answers, first, seconds, ratios = {}, {}, {}, {}
    groups = [[name for name in present if name not in apart]]
    groups += [[peer_of, name] for name in apart if name in present]
    for group in groups:
        new = [name for name in group if name not in first]
        for name in new:
            first[name], answers[name] = timed(present[name])
        taken = {name: [] for name in group}
        for _ in range(rounds):
            for name in group:
                elapsed, answers[name] = timed(present[name])
                taken[name].append(elapsed)
        for name in new:
            seconds[name] = taken[name]
            if name != peer_of:
                pairs = zip(taken[name], taken[peer_of])
                ratios[name] = [a / b for a, b in pairs]
    return {
        "per_second": {
            name: work / statistics.median(seconds[name]) if call else None
            for name, call in contenders.items()
        },
        "spread": {
            name: [work / max(taken), work / min(taken)]
            for name, taken in seconds.items()
        },
        "first_seconds": first,
        "ratios": {k: statistics.median(v) for k, v in ratios.items()},
        "ratio_spread": {k: [min(v), max(v)] for k, v in ratios.items()},
    }, answers


def timed(call, *arguments, **options):
    """Call; return (seconds it took, what it returned)."""
    started = time.perf_counter()
    answer = call(*arguments, **options)
    return time.perf_counter() - started, answer
