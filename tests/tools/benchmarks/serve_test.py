import keras
import pytest

from tests.tools.benchmarks import networks_test
from tools.benchmarks import networks
from tools.benchmarks import serve


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_the_served_model_answers_as_the_model():
    if keras.config.backend() != "tensorflow":
        pytest.skip("a SavedModel is made with TensorFlow")
    sizes = networks_test.SIZES | {"max_sequence_length": 64}
    found = serve.measure(sizes=sizes, rounds=1)
    assert found["labels_equal"] is True
    present = {"saved_model", "keras"}
    if networks.has_transformers():
        present |= {"transformers", "transformers_1"}
    for name in ("per_second", "one_string_ms"):
        values = {k: v for k, v in found[name].items() if v}
        assert values.keys() == present
        assert all(value > 0 for value in values.values())
    assert found["ratios"].keys() == present - {"saved_model"}
    shares = found["tokenizer_share"]
    assert shares.keys() == {"saved_model", "keras", "transformers"}
    assert all(0 < share for share in shares.values() if share is not None)
    assert 3 <= found["words_per_string"] < 60
