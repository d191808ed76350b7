"""Presets from and to the formats of others, through the tools."""

import subprocess
import sys

import numpy as np

from gpt1_keras.models import causal_lm
from tests.reference import numpy_gpt1
from tests.reference import released_shards
from tests.reference import small_models
from tools import convert_openai

SIZES = "2 layers, 2 heads, width 8, 12 positions, 60 tokens\n"


def run(folder, tool, *arguments):
    """Return what a tool prints, called in another folder."""
    done = subprocess.run(
        [sys.executable, tool.__file__, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_openai(tmp_path):
    arrays = released_shards.write_small(tmp_path / "model")
    arguments = ("--input", "model", "--preset=new/gpt1", "--num_heads=2")
    printed = run(tmp_path, convert_openai, *arguments)
    assert printed == f"new/gpt1: 2320 parameters, {SIZES}"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["gpt1"]
    model = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "new/gpt1"))
    ids = small_models.byte_pairs().encode("the cat sat.")
    assert model.preprocessor.tokenizer.tokenize("the cat sat.") == ids
    hidden = numpy_gpt1.hidden_states(
        arrays, [ids], num_positions=12, num_layers=2, num_heads=2
    )
    logits = small_models.read(model(small_models.inputs(np.array([ids]))))
    np.testing.assert_allclose(logits, hidden @ arrays["we"][:60].T, atol=1e-4)
