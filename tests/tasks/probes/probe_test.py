import pytest

from gpt1_keras.tasks import zero_shot


@pytest.mark.parametrize("name", zero_shot.NAMES)
def test_every_probe_is_complete(name):
    made = zero_shot.probe(name)
    assert isinstance(made, zero_shot.Probe) and made.name == name
    assert 0.0 <= made.random < 1.0
    assert made.split in ("dev", "test")


def test_a_probe_without_its_parts_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        zero_shot.Probe()
