import json
import shutil

import keras
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from gpt1_keras.text import train_vocabulary
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return tiny_task.write_preset(tmp_path_factory.mktemp("preset") / "one")


@pytest.fixture(scope="module")
def source(preset):
    return backbone_lib.GPT1Backbone.from_preset(str(preset))


def of(preset, **changes):
    settings = {"num_transferred_layers": None, "dropout": 0.1} | changes
    return presets.Pretrained(preset=preset, **settings)


def table(network):
    embedding = network.token_and_position_embedding
    return small_models.read(embedding.token_embeddings.value)


def test_tokenizer_is_that_of_the_preset(preset, source):
    tokenizer = of(str(preset)).tokenizer()
    assert tokenizer.vocabulary_size == source.vocabulary_size
    text = "the old captain walked"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_positions_are_those_of_the_preset(preset, source):
    assert of(preset).num_positions() == source.max_sequence_length == 32


def test_backbone_has_weights_special_rows_and_dropout(preset, source):
    network = of(preset, dropout=0.25).backbone()
    np.testing.assert_array_equal(table(network), table(source))
    assert network.num_special_tokens == 3
    rates = {
        name: rate
        for name, rate in network.get_config().items()
        if name.endswith("_dropout")
    }
    assert rates == {
        "embedding_dropout": 0.25,
        "attention_dropout": 0.25,
        "residual_dropout": 0.25,
    }


def test_what_is_not_transferred_comes_from_the_global_seed(preset, source):
    def new(seed):
        keras.utils.set_random_seed(seed)
        return table(of(preset, num_transferred_layers=-1).backbone())

    np.testing.assert_array_equal(new(5), new(5))
    assert not np.array_equal(new(5), new(6))
    assert not np.any(new(5) == table(source))


def test_two_backbones_share_nothing(preset):
    maker = of(preset)
    first, second = maker.backbone(), maker.backbone()
    before = table(second)
    embedding = first.token_and_position_embedding
    embedding.token_embeddings.assign(embedding.token_embeddings * 0.0)
    np.testing.assert_array_equal(table(second), before)


def test_backbone_has_the_global_dtype_policy(preset):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        network = of(preset).backbone()
    finally:
        keras.config.set_dtype_policy("float32")
    assert network.dtype_policy.name == "mixed_bfloat16"


def test_fine_tuned_preset_may_be_the_beginning(preset, tmp_path):
    """A second task begins with all of the first but its head."""
    model = tiny_fine_tuned.write(
        tmp_path, benchmarks.benchmark("cola"), preset
    )
    network = of(tmp_path).backbone()
    np.testing.assert_array_equal(table(network), table(model.backbone))
    before, after = (
        each.token_and_position_embedding.special_embeddings
        for each in (model.backbone, network)
    )
    np.testing.assert_array_equal(
        small_models.read(after.value), small_models.read(before.value)
    )


def test_vocabulary_of_another_preset(preset, tmp_path):
    mixed = tmp_path / "mixed"
    shutil.copytree(preset, mixed)
    texts = ["other words of a different book altogether"] * 9
    other = train_vocabulary.train_bpe(texts, vocabulary_size=40)
    (assets,) = mixed.rglob("vocabulary.json")
    other.save(assets.parent)
    config = json.loads((mixed / "config.json").read_text())["config"]
    assert other.vocabulary_size != config["vocabulary_size"]
    expected = (
        f"its tokenizer has {other.vocabulary_size} words, its network "
        f"{config['vocabulary_size']}"
    )
    with pytest.raises(errors.InputError, match=expected):
        of(mixed).tokenizer()


def test_mistakes(preset, tmp_path):
    with pytest.raises(errors.InputError, match="does not exist"):
        of(tmp_path / "nowhere").tokenizer()
    with pytest.raises(errors.InputError, match="does not exist"):
        of(tmp_path / "nowhere").backbone()
    with pytest.raises(errors.InputError, match="the preset has 2 layers"):
        of(preset, num_transferred_layers=3).backbone()
