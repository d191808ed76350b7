"""Options of serving for the tiny task."""

from gpt1_keras.runs import benchmark_files
from gpt1_keras.runs import fine_tuned
from gpt1_keras.runs import serving_options
from gpt1_keras.tasks import benchmarks


def of(data_dir, **changes):
    """`serving_options.Options` that read below `data_dir`."""
    settings = {
        "data": benchmark_files.BenchmarkFiles(
            data_dir=str(data_dir), sample_examples=8, sample_seed=0
        ),
        "build_task": benchmarks.of_preset,
        "split": "dev",
        "table_split": None,
        "num_table_pieces": 100,
        "scoring": fine_tuned.Scoring(
            batch_size=8, bucket_lengths=(8, 16, 32), dtype="float32"
        ),
        "weights_dtype": "float32",
    }
    return serving_options.Options(**settings | changes)
