import keras
import keras_hub
import numpy as np
import pytest

from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from tests.reference import letter_tokenizer
from tests.reference import small_models


@pytest.fixture(scope="module")
def model():
    """One that no test changes; special tokens would always win."""
    network = small_models.network(vocabulary_size=128)
    special = network.token_and_position_embedding.special_embeddings
    special.assign(100 * small_models.read(special))
    return causal_lm.GPT1CausalLM(network)


def stream(model, prompt, num_tokens, **options):
    sampler = options.pop("sampler", keras_hub.samplers.GreedySampler())
    options["num_tokens"] = num_tokens
    return list(generation.stream(model, prompt, sampler, **options))


def greedy(model, ids):
    """The likeliest token after `ids`, by a whole forward pass."""
    padded = np.zeros((1, 12), "int32")
    padded[0, : len(ids)] = ids
    logits = small_models.run(model, padded)
    return int(logits[0, len(ids) - 1].argmax())


def test_greedy_is_the_likeliest_and_the_window_slides(model):
    """12 positions: the token after a full window sees the last 6 only."""
    found = [3, 5, 7, *stream(model, [3, 5, 7], 16)]
    assert len(found) == 19
    stopped = stream(model, [3, 5, 7], 16, stop_ids=(found[5],))
    assert stopped == found[3 : found.index(found[5], 3) + 1]
    for end in range(3, 19):
        start = 0 if end <= 12 else 7
        assert found[end] == greedy(model, found[start:end])
    # A prompt longer than the positions.
    prompt = list(range(20, 40))
    assert stream(model, prompt, 1) == [greedy(model, prompt[-11:])]


class Watching(keras_hub.samplers.GreedySampler):
    """Refuses logits that torch could differentiate."""

    def compute_probabilities(self, logits):
        assert not getattr(logits, "requires_grad", False)
        return super().compute_probabilities(logits)


@pytest.mark.only_on("torch")
def test_nothing_is_kept_for_gradients(model):
    assert len(stream(model, [3, 5], 3, sampler=Watching())) == 3


def test_never_a_special_token(model):
    sampler = keras_hub.samplers.RandomSampler(temperature=100.0, seed=0)
    found = stream(model, [1], 100, sampler=sampler)
    assert len(set(found)) > 40 and max(found) < 128


def generated(model):
    """Return the 8 ids that `generate` writes after 3, 5."""
    prompt = {
        "token_ids": np.array([[3, 5] + 8 * [0]], "int32"),
        "padding_mask": np.array([2 * [True] + 8 * [False]]),
    }
    found = model.generate(prompt, stop_token_ids=None)["token_ids"]
    return small_models.read(found)[0, 2:].tolist()


def test_changed_weights_are_used():
    """Compiled functions of before LoRA and of old values are not."""
    model = causal_lm.GPT1CausalLM(small_models.network(num_special_tokens=0))
    model.compile(sampler="greedy")
    plain, before = stream(model, [3, 5], 8), generated(model)
    model.backbone.enable_lora(2)
    for weight in model.weights:
        if "lora" in weight.name:
            weight.assign(np.random.default_rng(0).normal(size=weight.shape))
    changed, ids = stream(model, [3, 5], 8), [3, 5]
    for chosen in changed:
        assert chosen == greedy(model, ids)
        ids.append(chosen)
    assert changed != plain
    assert generated(model) == changed != before
    table = model.backbone.token_and_position_embedding.token_embeddings
    table.assign(-small_models.read(table))
    assert stream(model, [3, 5], 1) == [greedy(model, [3, 5])]


def sample(model, **options):
    text = generation.sample_text(
        model,
        letter_tokenizer.LetterTokenizer(),
        **{"prompt": "It was", "num_tokens": 10, "top_k": 500}
        | {"temperature": 2.0, "seed": 1}
        | options,
    )
    return [ord(letter) for letter in text]


def test_sampled_text_begins_with_the_prompt_and_follows_the_seed(model):
    ids = sample(model)
    assert ids[:5] == [ord(letter) for letter in "Itwas"] and len(ids) == 10
    assert sample(model) == ids != sample(model, seed=2)
    found = sample(model, prompt="a" * 50)
    assert found[:9] == [97] * 9 != found[1:]
    # The best one only is greedy, and so is a temperature near 0.
    for change in ({"top_k": 1}, {"temperature": 1e-4}):
        ids = sample(model, **change)
        assert ids[5:] == stream(model, ids[:5], 5)


@pytest.mark.only_on("tensorflow")
@pytest.mark.parametrize(
    "build", [small_models.network, small_models.lstm_network]
)
def test_xla_need_not_compile_again_for_every_position(build):
    """Where a slice begins is a constant of what XLA compiles."""
    model = causal_lm.GPT1CausalLM(build())
    cache = np.zeros(model.backbone.cache_shape(1, 12), "float32")
    arguments = [np.array([[3]], "int32"), cache, np.array(2, "int32")]
    graph = (
        generation._compile(model)
        .get_concrete_function(*map(keras.ops.convert_to_tensor, arguments))
        .graph
    )

    def follows(tensor, other):
        return tensor is other or any(
            follows(each, other) for each in tensor.op.inputs
        )

    slices = [op for op in graph.get_operations() if "Slice" in op.type]
    begins = [op.inputs[1] for op in slices if "Xla" not in op.type]
    assert begins
    assert not any(follows(begin, graph.inputs[2]) for begin in begins)
