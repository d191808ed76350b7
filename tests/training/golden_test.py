"""The released code's own numbers, from the file `shared_file` finds."""

import pytest

from gpt1_keras.layers import attention
from gpt1_keras.layers import fused
from tests.reference import golden

TOLERANCES = {
    "clf_logits": 1e-5,
    "clf_losses": 1e-5,
    "lm_losses": 1e-5,
    "gradients": 1e-5,
    "step_losses": 1e-4,
    "weights_after": 1e-4,
    "clf_logits_after": 1e-4,
    "clf_losses_after": 1e-4,
    "lm_losses_after": 1e-4,
}


# As small networks are computed; with all chains compiled, and attention in
# blocks, as in large ones.
@pytest.mark.parametrize(
    "smallest, block", [(fused.SMALLEST, attention.BLOCK), (0, 4)]
)
@pytest.mark.needs_data
def test_agrees_with_the_released_code(
    shared_file, smallest, block, monkeypatch
):
    monkeypatch.setattr(fused, "SMALLEST", smallest)
    monkeypatch.setattr(attention, "BLOCK", block)
    found = golden.compare(shared_file("golden/openai_finetune_a.npz"))
    print(found)
    assert found.keys() == TOLERANCES.keys()
    # Not `>`: nan is too far, too.
    assert not [x for x in found if not found[x] <= TOLERANCES[x]]
