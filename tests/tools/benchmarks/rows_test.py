import keras
import pytest

from tools.benchmarks import rows


@pytest.mark.filterwarnings("ignore")
def test_both_give_all_batches():
    if keras.config.backend() != "tensorflow":
        pytest.skip("raw text is read with TensorFlow")
    found = rows.measure(sizes={}, rounds=1, rows=200)
    assert found["batches"]["encoded"] == found["batches"]["raw"] > 1
    assert found["rows"] > 100 and found["ratios"]["raw"] > 0
    assert found["encode_seconds"] >= 0 and found["open_seconds"] > 0
    assert found["unit"] == "tokens/s"
