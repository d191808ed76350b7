import pytest

from tools.benchmarks import networks
from tools.benchmarks import tokenize


@pytest.mark.filterwarnings("ignore")
def test_all_read_the_same_text():
    pytest.importorskip("tensorflow")
    found = tokenize.measure(sizes={}, rounds=1, words=5000)
    present = {k for k, speed in found["per_second"].items() if speed}
    expected = {"graph", "python", "python_new"}
    if networks.has_transformers():
        expected |= {"transformers"}
    assert present == expected
    assert found["equal_books"]["python_new"] == 1.0
    assert found["equal_books"]["graph"] > 0.8
    assert found["tokens"] > 5000
    assert all(found["per_second"][name] > 0 for name in present)
