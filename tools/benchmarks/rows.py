"""Input pipeline of fine-tuning in tokens per second, on generated SNLI.

`encoded` rows become ids before the first step, which takes `encode_seconds`;
`raw` rows are tokenised inside tf.data (`gin/data/raw_examples.gin`), which
takes `open_seconds` to build.
"""

import pathlib
import tempfile

from tools.benchmarks import contest
from tools.benchmarks import networks
from tools.benchmarks import reading

_ROWS = 20_000
_BATCH_SIZE = 32
_BUCKETS = (16, 24, 32, 48, 64, 96, 128)


def measure(*, sizes, rounds, rows=_ROWS):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: not used: batches are 32 rows.
        rounds: int, how often each contender reads all rows `reading.EPOCHS`
            times.
        rows: int, training examples.
    """
    del sizes
    with tempfile.TemporaryDirectory() as directory:
        return _measure(pathlib.Path(directory), rows, rounds)


def _measure(directory, rows, rounds):
    from gpt1_keras.evaluation import scoring
    from gpt1_keras.runs import finetune
    from gpt1_keras.sample_world import benchmarks as sample_world
    from gpt1_keras.tasks import benchmarks

    sample_world.write_benchmarks(
        directory / "data", num_train=rows, num_dev=10, num_test=10, seed=0
    )
    task = benchmarks.benchmark("snli")
    examples = task.read(directory / "data", "train")

    def make(batches):
        train = scoring.Labelled(
            task,
            examples,
            tokenizer=networks.tokenizer(),
            max_sequence_length=512,
            batch_size=_BATCH_SIZE,
            bucket_lengths=_BUCKETS,
            name="snli",
        )
        return batches(
            train,
            batch_size=_BATCH_SIZE,
            seed=0,
            bucket_lengths=_BUCKETS,
            pool_batches=16,
        )

    encoding, encoded = contest.timed(make, finetune.encoded_batches)
    opening, raw = contest.timed(make, finetune.raw_batches)
    num_steps = reading.EPOCHS * encoded.steps_per_epoch
    found, counts = contest.run(
        {
            "encoded": reading.reader(encoded, num_steps),
            "raw": reading.reader(raw, num_steps),
        },
        rounds=rounds,
        work=round(num_steps * encoded.tokens_per_step),
        peer_of="encoded",
    )
    return {
        "unit": "tokens/s",
        **found,
        "rows": len(examples),
        "encode_seconds": round(encoding, 1),
        "open_seconds": round(opening, 1),
        "batches": counts,
    }
