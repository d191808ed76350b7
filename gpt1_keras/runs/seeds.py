"""One run for each of several seeds, and what they have in common."""

import statistics

from absl import logging

from gpt1_keras import errors
from gpt1_keras.runs import result


def run_each(workdir, config_sha256, seed, seeds, run):
    """Call `run(directory, seed)` for each seed that is not finished.

    Args:
        workdir: pathlib.Path. A single seed runs in it; of several each runs
            in its own `seed_N/`, and the aggregate is written above.
        config_sha256: str.
        seed: int, used where `seeds` is None.
        seeds: tuple of different ints, or None.
        run: function `(directory, seed)` that writes a `result.json`.

    Returns:
        path of the `result.json` in `workdir`.
    """
    if seeds is None:
        return run(workdir, seed)
    is_list = isinstance(seeds, list | tuple)
    if not is_list or not seeds or len(set(seeds)) != len(seeds):
        raise errors.InputError(
            f"SEEDS is {seeds}: give different whole numbers, as in (1, 2, 3)"
        )
    found = []
    for number in seeds:
        directory = workdir / f"seed_{number}"
        if not result.is_finished(directory, config_sha256):
            logging.info("seed %s: %s", number, directory)
            run(directory, number)
        found.append(result.read(directory))
    return _aggregate(workdir, found)


def _aggregate(workdir, found):
    """Write the median and range of several results."""
    first = found[0]
    values = {
        name: [each["metrics"][name] for each in found]
        for name in first["metrics"]
    }
    own = ("metrics", "train_metrics", "best_step", "seed", "seconds")
    own += ("git_commit", "backend")
    common = {key: first[key] for key in first if key not in own}
    return result.write(
        workdir,
        **common,
        metrics={name: statistics.median(v) for name, v in values.items()},
        range={name: [min(v), max(v)] for name, v in values.items()},
        seeds={str(each["seed"]): each["metrics"] for each in found},
        seed=[each["seed"] for each in found],
        seconds=sum(each["seconds"] for each in found),
    )
