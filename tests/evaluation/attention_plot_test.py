import numpy as np
import pytest
from matplotlib import pyplot

from gpt1_keras.evaluation import text_view


def uniform(length):
    lower = np.tril(np.ones((length, length)))
    return lower / lower.sum(axis=-1, keepdims=True)


def tones(path):
    """How many different greys and blacks the picture has."""
    return len(np.unique(pyplot.imread(path)[..., 0]))


@pytest.mark.parametrize("length", [1, 3, 80])
def test_one_head(tmp_path, length):
    pieces = [f"${i}_ " for i in range(length)]  # no mathematics
    path = text_view.one_head(
        uniform(length), pieces, tmp_path / "plots" / "a.png", title="$x"
    )
    assert path == tmp_path / "plots" / "a.png"
    assert tones(path) > min(length, 30)
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("length", [1, 5, 40])
@pytest.mark.parametrize("heads", [1, 3, 12])
def test_all_heads_have_a_place(tmp_path, heads, length):
    sizes = []
    for count in (heads, heads + 4):
        path = text_view.all_heads(
            np.stack([uniform(length)] * count),
            [f"${i}_ " for i in range(length)],
            tmp_path / "a.png",
            title="layer",
        )
        sizes.append(pyplot.imread(path).shape)
    assert sizes[1][0] > sizes[0][0]
    assert not pyplot.get_fignums()
