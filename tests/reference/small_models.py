"""Networks and a tokenizer small enough for tests, and their weights."""

import operator
import string

import keras
import numpy as np
from keras import ops
from scipy import special

from gpt1_keras.models import backbone
from gpt1_keras.models import builders
from gpt1_keras.models import lstm_backbone
from gpt1_keras.models import preprocessors
from gpt1_keras.models import task_model as task_model_lib
from gpt1_keras.text import tokenizer

# Released name of a block's weight -> its place in a `DecoderBlock`.
BLOCK_NAMES = {
    "attn/c_attn/w": "attention.query_key_value.kernel",
    "attn/c_attn/b": "attention.query_key_value.bias",
    "attn/c_proj/w": "attention.output_dense.kernel",
    "attn/c_proj/b": "attention.output_dense.bias",
    "ln_1/g": "attention_norm.gamma",
    "ln_1/b": "attention_norm.beta",
    "mlp/c_fc/w": "feed_forward.intermediate_dense.kernel",
    "mlp/c_fc/b": "feed_forward.intermediate_dense.bias",
    "mlp/c_proj/w": "feed_forward.output_dense.kernel",
    "mlp/c_proj/b": "feed_forward.output_dense.bias",
    "ln_2/g": "feed_forward_norm.gamma",
    "ln_2/b": "feed_forward_norm.beta",
}

SIZES = {
    **{"vocabulary_size": 23, "num_layers": 2, "num_heads": 2},
    **{"hidden_dim": 8, "intermediate_dim": 20, "max_sequence_length": 12},
    **{"embedding_dropout": 0.0, "attention_dropout": 0.0},
    **{"residual_dropout": 0.0, "embedding_dropout_on": "tables"},
    **{"layer_norm_epsilon": 1e-5, "initializer_range": 0.02},
    "num_special_tokens": 3,
}


ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
ADAM["weight_decay"] = 0.01


def network(**changes):
    """A `GPT1Backbone` of `SIZES` with weights of ordinary size."""
    model = backbone.GPT1Backbone(**SIZES | changes)
    randomize(model)
    return model


LSTM_SIZES = {"num_units": 10, "num_special_tokens": 0} | {
    name: SIZES[name]
    for name in (
        *("vocabulary_size", "hidden_dim", "max_sequence_length"),
        *("embedding_dropout", "residual_dropout", "embedding_dropout_on"),
        "initializer_range",
    )
}


def lstm_network(**changes):
    """An `LSTMBackbone` of `LSTM_SIZES` with weights of ordinary size."""
    model = lstm_backbone.LSTMBackbone(**LSTM_SIZES | changes)
    randomize(model)
    return model


def randomize(layer, seed=0):
    """Draw weights that no part of the network hides.

    Those of a new network have zero biases, unit gains and kernels so small
    that every block nearly returns its input.
    """
    random = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        value = random.normal(size=weight.shape, scale=0.4)
        weight.assign(value + (1.0 if weight.name == "gamma" else 0.0))


def read(tensor):
    """A tensor of any backend as float64."""
    return np.asarray(ops.convert_to_numpy(ops.cast(tensor, "float32")), "f8")


def released_arrays(model, head=None, read=read):
    """The weights of a `GPT1Backbone`, float64, under the released names."""
    embedding = model.token_and_position_embedding
    tables = [embedding.token_embeddings, embedding.position_embeddings]
    if embedding.special_embeddings is not None:
        tables.insert(1, embedding.special_embeddings)
    arrays = {"we": np.concatenate([read(table) for table in tables])}
    for i, block in enumerate(model.decoder_blocks):
        for name, path in BLOCK_NAMES.items():
            arrays[f"h{i}/{name}"] = read(operator.attrgetter(path)(block))
    if head is not None:
        arrays["clf/w"] = read(head.dense.kernel)
        arrays["clf/b"] = read(head.dense.bias)
    return arrays


def assert_close(found, expected, atol=1e-5):
    """A tensor of any backend has the values of an array."""
    np.testing.assert_allclose(read(found), expected, atol=atol)


def assert_half_dropped(dropped, whole):
    """Dropout of rate 0.5 turned one array into the other."""
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(
        dropped[kept], 2 * whole[kept], rtol=1e-4, atol=1e-5
    )


def built(layer, width=8):
    """The layer, built for states `[B, T, width]`, with `randomize`d weights."""
    layer.build((None, None, width))
    randomize(layer)
    return layer


def states(*shape):
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def token_ids(*shape, below=26, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, below, shape).astype("int32")


def inputs(ids):
    """What a KerasHub model takes; the mask hides nothing."""
    return {"token_ids": ids, "padding_mask": np.ones_like(ids)}


def run(model, ids, **kwargs):
    """What a KerasHub model returns for ids, as float64."""
    return read(model(inputs(ids), **kwargs))


def log_probabilities(model, ids):
    """Of all ids but the first, by a forward pass of a language model."""
    count = len(ids) - 1
    # Keras warns of a softmax over a single position.
    given = ids[:count] if count > 1 else [ids[0], 0]
    logits = run(model, np.array([given], "int32"))[0, :count]
    log_p = special.log_softmax(logits, axis=-1)
    return log_p[np.arange(count), ids[1:]]


def draws(layer):
    """How often each dropout in `layer` has drawn a mask."""
    return [
        int(ops.convert_to_numpy(each.seed_generator.state)[1])
        for each in layer._flatten_layers()
        if isinstance(each, keras.layers.Dropout) and each.rate
    ]


def byte_pairs():
    """A byte-pair `Tokenizer` of letters, full stop and four merges."""
    letters = [*string.ascii_lowercase, "."]
    merges = [("t", "h"), ("th", "e</w>"), ("c", "a"), ("ca", "t</w>")]
    pieces = ["<unk>", *letters, *(letter + "</w>" for letter in letters)]
    pieces += [left + right for left, right in merges]
    return tokenizer.Tokenizer([*pieces, "\n</w>"], merges)


def tokenizer_layer():
    return preprocessors.GPT1Tokenizer.from_pipeline(byte_pairs())


def language_model(**changes):
    """A `GPT1CausalLM` of `network` that reads `byte_pairs`."""
    pipeline = byte_pairs()
    sizes = {"vocabulary_size": pipeline.vocabulary_size} | changes
    return builders.gpt1_causal_lm(network(**sizes), pipeline)


def task_model(head, transform="classification", build=network, **settings):
    """A `GPT1TaskModel` of `build` with a head that reads `byte_pairs`."""
    reader = tokenizer_layer()
    model = task_model_lib.GPT1TaskModel(
        build(vocabulary_size=reader.vocabulary_size(), num_special_tokens=3),
        head,
        preprocessor=preprocessors.GPT1TaskPreprocessor(
            reader, transform=transform, sequence_length=12, **settings
        ),
    )
    randomize(model)
    return model
