import pytest

from tests.tools.benchmarks import networks_test
from tools.benchmarks import networks
from tools.benchmarks import pretrain


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_all_begin_with_the_same_loss():
    found = pretrain.measure(sizes=networks_test.SIZES, rounds=1, batch_size=2)
    present = {"bfloat16", "float32"}
    if networks.has_transformers():
        present |= {"transformers", "compiled"}
    assert found["loss_before"].keys() == present
    assert found["losses_equal"] is True
    assert all(speed > 0 for speed in found["per_second"].values())
    assert found["per_second"].keys() == found["first_seconds"].keys()
