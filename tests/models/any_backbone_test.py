import keras
import numpy as np
import pytest

from gpt1_keras.models import backbone
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.models import lstm_backbone
from gpt1_keras.models import preprocessors
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer
from gpt1_keras.tasks import benchmarks
from tests.models import lstm_backbone_test
from tests.reference import small_models

INPUTS = {
    "token_ids": np.array([[4, 9, 11]]),
    "padding_mask": np.array([[1, 1, 1]]),
}


@pytest.fixture(scope="module")
def pipeline():
    return small_models.byte_pairs()


@pytest.fixture(scope="module")
def network(pipeline):
    return lstm_backbone_test.network(
        vocabulary_size=pipeline.vocabulary_size, num_special_tokens=3
    )


def test_language_model_of_an_lstm(tmp_path, pipeline, network):
    model = builders.gpt1_causal_lm(network, pipeline)
    model.save_to_preset(str(tmp_path))
    for cls in (causal_lm.GPT1CausalLM, tokenizer.GPT1Tokenizer):
        found = cls.from_preset(str(tmp_path))
        assert isinstance(found, cls)
        assert cls.backbone_cls is backbone.GPT1Backbone
    found = causal_lm.GPT1CausalLM.from_preset(str(tmp_path))
    assert isinstance(found.backbone, lstm_backbone.LSTMBackbone)
    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(found(INPUTS)),
        keras.ops.convert_to_numpy(model(INPUTS)),
    )
    ids = preprocessors.GPT1CausalLMPreprocessor.from_preset(
        str(tmp_path)
    ).tokenizer.pipeline.encode("the cat")
    assert ids == pipeline.encode("the cat")


def test_fine_tuned_lstm_keeps_its_head(tmp_path, pipeline, network):
    task = benchmarks.benchmark("sst2")
    preprocessor = preprocessors.GPT1TaskPreprocessor(
        tokenizer.GPT1Tokenizer.from_pipeline(pipeline),
        transform=task.transform.__name__,
        sequence_length=12,
        task=task.name,
        label_words=task.target.words,
    )
    head = task.build_head(
        num_outputs=2, dropout=0.0, initializer_range=0.5, name="head"
    )
    model = task_model.GPT1TaskModel(network, head, preprocessor=preprocessor)
    model.save_to_preset(str(tmp_path))
    found = task_model.GPT1TaskModel.from_preset(str(tmp_path))
    inputs = found.preprocessor(["the cat", "a b"])
    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(found(inputs)["logits"]),
        keras.ops.convert_to_numpy(model(inputs)["logits"]),
    )


def test_backbone_of_nobody_is_refused(tmp_path):
    class Other(tokenizer.GPT1Tokenizer):
        backbone_cls = lstm_backbone.LSTMBackbone

    pipeline = small_models.byte_pairs()
    small = small_models.network(vocabulary_size=pipeline.vocabulary_size)
    builders.gpt1_causal_lm(small, pipeline).save_to_preset(str(tmp_path))
    with pytest.raises(ValueError, match="compatible with GPT1Backbone"):
        Other.from_preset(str(tmp_path))
