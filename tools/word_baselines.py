"""Measure the majority, bag-of-words and word-overlap baselines of benchmarks.

python tools/word_baselines.py --data DIR [--examples N] [--seed S]
                               TASK [TASK ...]

  --data DIR     the DATA_DIR of the runs
  --examples N   train on N examples, those of a run with NUM_TRAIN_EXAMPLES = N
  --seed S       the seed of that run; default: 42
  TASK           sst2, cola, mrpc, qqp, stsb, snli, mnli, qnli, rte, scitail

They show how far single words go without a network. `majority` predicts train's
commonest label or mean score (a run's result.json: dev's). `words`, `overlap`:
linear models. All are scored on dev (gpt1_keras/evaluation/word_baselines.py).

Prints one row of a table for each task, within seconds for up to 10,000
examples. Exit status: 0 done; 2 invalid arguments or files.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))


from gpt1_keras import console  # noqa: E402
from gpt1_keras.errors import InputError  # noqa: E402
from tools import command_line  # noqa: E402

with console.without_noise():  # tasks import Keras
    from gpt1_keras.data import examples
    from gpt1_keras.evaluation import word_baselines
    from gpt1_keras.runs import sources
    from gpt1_keras.tasks import benchmarks
    from gpt1_keras.tasks import task as task_lib

_HEADER = "task metric train dev majority words overlap".split()


@command_line.tool
def main(arguments):
    """Measure what `arguments` (list of str) name; return the exit status."""
    parser = command_line.Parser(__doc__)
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument("--data", required=True)
    parser.add_argument("--examples", type=command_line.positive)
    parser.add_argument("--seed", type=command_line.seed, default=42)
    values = parser.parse(arguments)
    data = sources.BenchmarkFiles(data_dir=values.data)
    for i, task in enumerate([_task(name) for name in values.tasks]):
        train = examples.draw_subset(
            data.read(task, "train"), values.examples, seed=values.seed
        )
        cells = _cells(task, train, data.read(task, "dev"))
        rows = [cells] if i else [_HEADER, ["---"] * len(_HEADER), cells]
        print(*map(_row, rows), sep="\n", flush=True)


def _cells(task, train, dev):
    constant = task.label_space.majority(train)
    found = {"majority": task.measure(dev, [constant] * len(dev))}
    found |= word_baselines.measure(task, train, dev)
    metric = next(iter(found["majority"]))
    values = [
        f"{found[name][metric]:.3f}" if name in found else ""
        for name in ("majority", "words", "overlap")
    ]
    return [task.name, metric, f"{len(train):,}", f"{len(dev):,}", *values]


def _row(cells):
    return "| " + " | ".join(cells) + " |"


def _task(name):
    task = benchmarks.benchmark(name)
    if isinstance(task.label_space, task_lib.Choice):
        problem = "is multiple choice, which these models cannot answer"
        raise InputError(f"{name} {problem}: leave it out")
    return task


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
