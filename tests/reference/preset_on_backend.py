"""A language model's preset, written or used on the backend in use.

    KERAS_BACKEND=torch python -m tests.reference.preset_on_backend write DIR
    KERAS_BACKEND=jax python -m tests.reference.preset_on_backend use DIR FILE

`use` writes to FILE (.npz) what the model answers: logits, scores, a text, and
logits after LoRA, after its merge into the weights, and with int8 weights.
"""

import sys
import tempfile

import numpy as np
from keras import ops

from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from tests.reference import small_models

LENGTH = 9
# Wide enough for the rounding of int8 to be small beside the numbers.
SIZES = {"hidden_dim": 32, "intermediate_dim": 64, "num_layers": 2}


def ids():
    """The tokens asked about: int32 `[4, LENGTH]`."""
    return small_models.token_ids(4, LENGTH, below=60, seed=3)


def write(directory):
    pipeline = small_models.byte_pairs()
    network = small_models.network(
        vocabulary_size=pipeline.vocabulary_size, **SIZES
    )
    for weight in network.trainable_weights:
        if weight.name == "kernel":
            weight.assign(ops.multiply(weight, 0.3))
    builders.gpt1_causal_lm(network, pipeline).save_to_preset(str(directory))


def read(directory):
    return causal_lm.GPT1CausalLM.from_preset(str(directory))


def logits(model):
    """Return float64 `[4, LENGTH, V]`."""
    return small_models.read(model(small_models.inputs(ids())))


def saved_and_read(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save_to_preset(folder)
        return logits(read(folder))


def use(directory):
    with_lora = read(directory)
    with_lora.backbone.enable_lora(2)
    random = np.random.default_rng(5)
    changed = [w for w in with_lora.weights if "lora_kernel_b" in w.name]
    for weight in changed:
        weight.assign(random.normal(size=weight.shape, scale=0.3))
    model = read(directory)
    targets = np.roll(ids(), -1, axis=1)
    model.compile(sampler="greedy", optimizer=None, loss=None)
    found = {
        "logits": logits(model),
        "score": small_models.read(model.score(ids())),
        "loss": small_models.read(
            model.score(ids(), scoring_mode="loss", target_ids=targets)
        ),
        "text": np.array(model.generate(["the cat", "a"], max_length=8)),
        **{"num_lora": np.array(len(changed)), "lora": logits(with_lora)},
        "merged": saved_and_read(with_lora),
    }
    model.quantize("int8")
    found["int8"] = logits(model)
    found["num_int8"] = np.array(
        sum(str(w.dtype) == "int8" for w in model.weights)
    )
    found["int8_text"] = np.array(model.generate("the cat", max_length=8))
    return found | {"int8_again": saved_and_read(model)}


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        np.savez(sys.argv[3], **use(sys.argv[2]))
