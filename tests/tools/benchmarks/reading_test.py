import keras
import pytest

from tools.benchmarks import reading


@pytest.mark.filterwarnings("ignore")
def test_both_give_all_batches():
    if keras.config.backend() != "tensorflow":
        pytest.skip("raw text is read with TensorFlow")
    found = reading.measure(sizes={}, rounds=1, words=40_000)
    batches = found["batches"]
    assert batches["shards"] == batches["raw_text"] > 1
    assert found["corpus_tokens"] > 40_000
    assert found["prepare_seconds"] > 0 and found["open_seconds"] > 0
    assert found["ratios"]["raw_text"] > 0
