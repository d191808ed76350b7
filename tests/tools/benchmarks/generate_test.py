import importlib.util

import pytest

from tests.tools.benchmarks import networks_test
from tools.benchmarks import generate


@pytest.mark.filterwarnings("ignore")
def test_all_write_the_same(capsys):
    sizes = networks_test.SIZES | {"max_sequence_length": 24}
    found = generate.measure(sizes=sizes, rounds=1, num_tokens=100)
    assert found["new_tokens"] == 24 - found["prompt_tokens"] == 8
    assert found["texts_equal"] is True
    ours = {"cached", "streamed", "recomputed"}
    present = {k for k, speed in found["per_second"].items() if speed}
    names = ("torch", "transformers")
    if all(importlib.util.find_spec(name) for name in names):
        assert present == ours | {"transformers"}
    else:
        assert present == ours
    assert found["ratios"].keys() == present - {"cached"}
    assert all(speed > 0 for speed in found["first_seconds"].values())
