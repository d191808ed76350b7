"""Options of serving for the tiny task."""

from gpt1_keras.runs import export
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks


def of(data_dir, **changes):
    """`export.Options` that read below `data_dir`."""
    settings = {
        "data": sources.BenchmarkFiles(
            data_dir=str(data_dir), sample_examples=8, sample_seed=0
        ),
        "build_task": benchmarks.of_preset,
        "split": "dev",
        "table_split": None,
        "num_table_pieces": 100,
        "scoring": presets.Scoring(
            batch_size=8, bucket_lengths=(8, 16, 32), dtype="float32"
        ),
        "weights_dtype": "float32",
    }
    return export.Options(**settings | changes)
