import pytest

from gpt1_keras.tasks.probes import probe
from gpt1_keras.tasks.probes import probes


@pytest.mark.parametrize("name", probes.NAMES)
def test_every_probe_is_complete(name):
    made = probes.probe(name)
    assert isinstance(made, probe.Probe) and made.name == name
    assert 0.0 <= made.random < 1.0
    assert made.split in ("dev", "test")


def test_a_probe_without_its_parts_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        probe.Probe()
