"""Random networks of the sizes in gin/model/, ours and their peers."""

import importlib.util
import pathlib

import numpy as np

_GIN = pathlib.Path(__file__).resolve().parents[2] / "gin" / "model"
_RELEASED_VOCABULARY = 40478


def sizes(name):
    """Return the arguments of a backbone from `gin/model/<name>.gin`."""
    from gpt1_keras import bindings

    macros = bindings.read((_GIN / f"{name}.gin").read_text("utf-8")).macros
    return {
        "vocabulary_size": macros.get("VOCABULARY_SIZE", _RELEASED_VOCABULARY),
        "num_layers": macros["NUM_LAYERS"],
        "num_heads": macros["NUM_HEADS"],
        "hidden_dim": macros["HIDDEN_DIM"],
        "intermediate_dim": macros["INTERMEDIATE_DIM"],
        "max_sequence_length": macros["NUM_POSITIONS"],
    }


def causal_lm(**sizes):
    """Return a `GPT1CausalLM` without dropout, its weights random."""
    from gpt1_keras.models import backbone
    from gpt1_keras.models import builders
    from gpt1_keras.text import tokenizer

    network = backbone.GPT1Backbone(
        **sizes,
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
        embedding_dropout_on="tables",
        layer_norm_epsilon=1e-5,
        initializer_range=0.02,
    )
    words = [f"w{i}</w>" for i in range(1, sizes["vocabulary_size"])]
    return builders.gpt1_causal_lm(
        network, tokenizer.Tokenizer(["<unk>", *words], [])
    )


def transformers_lm(model, directory):
    """Return transformers' network with the weights of `model`, or None.

    Args:
        model: `GPT1CausalLM`.
        directory: pathlib.Path of a folder for its files.

    Returns:
        None where transformers or torch is not installed.
    """
    for name in ("torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            return None
    import transformers

    from gpt1_keras.convert import huggingface

    huggingface.write(model, directory / "peer")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    network = transformers.OpenAIGPTLMHeadModel
    return network.from_pretrained(directory / "peer").eval()


def token_ids(*shape, vocabulary_size, seed=0):
    """Return random int32 ids."""
    draws = np.random.default_rng(seed)
    return draws.integers(1, vocabulary_size, shape).astype("int32")
