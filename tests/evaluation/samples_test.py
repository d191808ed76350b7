import numpy as np
import pytest

from gpt1_keras.models import causal_lm
from gpt1_keras.models import generation
from tests.reference import letter_tokenizer
from tests.reference import small_models

LENGTH = 10


class Recorder(letter_tokenizer.LetterTokenizer):
    """Keeps the ids that it was asked to decode."""

    def decode(self, ids):
        self.ids = ids
        return " ".join(map(str, ids))


@pytest.fixture(scope="module")
def model():
    network = small_models.network(vocabulary_size=128, num_layers=1)
    # If special tokens were scored they would win every time.
    special = network.token_and_position_embedding.special_embeddings
    special.assign(100 * small_models.read(special))
    return causal_lm.GPT1CausalLM(network, None, compile=False)


@pytest.fixture(scope="module")
def sampler(model):
    return generation.Sampler(
        model,
        Recorder(),
        prompt="It was",
        num_tokens=LENGTH,
        top_k=500,
        temperature=2.0,
    )


def test_begins_with_the_prompt_and_has_the_length(sampler):
    sampler(seed=1)
    ids = sampler.tokenizer.ids
    assert ids[:5] == [ord(letter) for letter in "Itwas"]
    assert len(ids) == LENGTH


def test_same_seed_same_text(sampler):
    first, other, again = sampler(seed=1), sampler(seed=2), sampler(seed=1)
    assert first == again != other


def test_ids_are_words_only_and_many(sampler):
    drawn = []
    for seed in range(10):
        sampler(seed)
        drawn += sampler.tokenizer.ids[5:]
    assert all(type(index) is int and 0 <= index < 128 for index in drawn)
    assert len(set(drawn)) > 10


def test_leaves_the_preprocessor_in_place(sampler, model):
    model.preprocessor = marker = object()
    try:
        sampler(seed=1)
        assert model.preprocessor is marker
    finally:
        model.preprocessor = None


def test_top_1_is_greedy(model):
    greedy = generation.Sampler(
        model,
        Recorder(),
        prompt="It was",
        num_tokens=LENGTH,
        top_k=1,
        temperature=1.0,
    )
    greedy(seed=1)
    ids = greedy.tokenizer.ids
    logits = small_models.read(
        model(small_models.inputs(np.array([ids], "int32")))
    )
    np.testing.assert_array_equal(ids[5:], logits[0, 4:-1].argmax(-1))


def test_long_prompt_leaves_room_for_a_token(model):
    sampler = generation.Sampler(
        model,
        Recorder(),
        prompt="a" * 50,
        num_tokens=LENGTH,
        top_k=5,
        temperature=1.0,
    )
    assert sampler.prompt_ids == [97] * 9
