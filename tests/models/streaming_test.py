import keras_hub
import numpy as np
import pytest

from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from tests.reference import small_models


@pytest.fixture(scope="module")
def model():
    return causal_lm.GPT1CausalLM(small_models.network(num_special_tokens=0))


def stream(model, prompt, num_tokens, **options):
    sampler = options.pop("sampler", keras_hub.samplers.GreedySampler())
    return list(
        generation.stream(
            model, prompt, sampler, num_tokens=num_tokens, **options
        )
    )


def greedy(model, ids):
    """The likeliest token after `ids`, by a whole forward pass."""
    padded = np.zeros((1, 12), "int32")
    padded[0, : len(ids)] = ids
    logits = model.predict(small_models.inputs(padded), verbose=0)
    return int(logits[0, len(ids) - 1].argmax())


def test_greedy_is_the_likeliest_each_time(model):
    ids = [3, 5, 7]
    for chosen in stream(model, ids, 9):
        assert chosen == greedy(model, ids)
        ids.append(chosen)
    assert len(ids) == 12


def test_window_slides_where_the_positions_end(model):
    """12 positions: token 13 sees the last 6 only, token 14 the last 7."""
    found = [3, 5, 7, *stream(model, [3, 5, 7], 16)]
    assert len(found) == 19
    for end, seen in ((12, 6), (13, 7), (17, 11)):
        assert found[end] == greedy(model, found[end - seen : end])


def test_prompt_longer_than_the_positions(model):
    prompt = list(range(20))
    assert stream(model, prompt, 1) == [greedy(model, prompt[-11:])]


def test_stops(model):
    whole = stream(model, [3, 5], 8)
    stop = whole[2]
    found = stream(model, [3, 5], 8, stop_ids=(stop,))
    assert found == whole[: whole.index(stop) + 1]


def test_never_a_special_token():
    model = causal_lm.GPT1CausalLM(small_models.network(num_special_tokens=3))
    sampler = keras_hub.samplers.RandomSampler(temperature=100.0, seed=0)
    found = stream(model, [1], 200, sampler=sampler)
    assert len(set(found)) > 15 and max(found) < 23


def test_other_weights_are_not_forgotten():
    """What was compiled before gives way to LoRA and to int8."""
    model = causal_lm.GPT1CausalLM(small_models.network(num_special_tokens=0))
    plain = stream(model, [3, 5], 8)
    model.backbone.enable_lora(2)
    for weight in model.weights:
        if "lora" in weight.name:
            weight.assign(np.random.default_rng(0).normal(size=weight.shape))
    changed, ids = stream(model, [3, 5], 8), [3, 5]
    for chosen in changed:
        assert chosen == greedy(model, ids)
        ids.append(chosen)
    assert changed != plain
    # Weights that change in place are seen too.
    table = model.backbone.token_and_position_embedding.token_embeddings
    table.assign(-small_models.read(table))
    assert stream(model, [3, 5], 1) == [greedy(model, [3, 5])]
