"""Random networks of the sizes in gin/model/, ours and their peers."""

import importlib.util
import pathlib

import numpy as np

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_GIN = _ROOT / "gin" / "model"
_PRESET = _ROOT / "presets" / "gpt1_mini_novels_en"
_RELEASED_VOCABULARY = 40478


def sizes(name):
    """Return the arguments of a backbone from `gin/model/<name>.gin`."""
    from gpt1_keras import bindings

    macros = bindings.read_text(
        (_GIN / f"{name}.gin").read_text("utf-8")
    ).macros
    return {
        "vocabulary_size": macros.get("VOCABULARY_SIZE", _RELEASED_VOCABULARY),
        "num_layers": macros["NUM_LAYERS"],
        "num_heads": macros["NUM_HEADS"],
        "hidden_dim": macros["HIDDEN_DIM"],
        "intermediate_dim": macros["INTERMEDIATE_DIM"],
        "max_sequence_length": macros["NUM_POSITIONS"],
    }


def causal_lm(*, dropout=0.0, **sizes):
    """Return a `GPT1CausalLM` with random weights."""
    from gpt1_keras.models import builders
    from gpt1_keras.text import tokenizer as tokenizer_lib

    words = [f"w{i}</w>" for i in range(1, sizes["vocabulary_size"])]
    return builders.gpt1_causal_lm(
        backbone(**sizes, dropout=dropout),
        tokenizer_lib.Tokenizer(["<unk>", *words], []),
    )


def tokenizer():
    """Return the tokenizer of the shipped preset."""
    from gpt1_keras.text import tokenizer as tokenizer_lib

    return tokenizer_lib.Tokenizer.from_directory(
        _PRESET / "assets" / "tokenizer"
    )


def task_model(name, pipeline, *, dropout=0.0, **sizes):
    """Return a `GPT1TaskModel` of a benchmark with random weights.

    Args:
        name: str, of the benchmark.
        pipeline: `Tokenizer`; its size is that of the vocabulary.
        dropout: float, every rate.
        **sizes: of `sizes`.
    """
    from gpt1_keras.models import preprocessors
    from gpt1_keras.models import task_model as task_model_lib
    from gpt1_keras.tasks import benchmarks

    task = benchmarks.benchmark(name)
    sizes = sizes | {"vocabulary_size": pipeline.vocabulary_size}
    head = task.label_space.build_head(
        num_outputs=task.label_space.num_outputs,
        dropout=dropout,
        initializer_range=0.02,
        dtype="float32",
        name="head",
    )
    preprocessor = preprocessors.GPT1TaskPreprocessor(
        preprocessors.GPT1Tokenizer.from_pipeline(pipeline),
        transform=task.transform.__name__,
        sequence_length=sizes["max_sequence_length"],
        task=name,
        label_words=task.label_space.class_names,
    )
    network = backbone(**sizes, num_special_tokens=3, dropout=dropout)
    return task_model_lib.GPT1TaskModel(
        network, head, preprocessor=preprocessor
    )


def backbone(*, dropout=0.0, **sizes):
    """Return a `GPT1Backbone` of `sizes` with random weights."""
    from gpt1_keras.models import backbone as backbone_lib

    return backbone_lib.GPT1Backbone(
        **sizes,
        embedding_dropout=dropout,
        attention_dropout=dropout,
        residual_dropout=dropout,
        embedding_dropout_on="tables",
        layer_norm_epsilon=1e-5,
        initializer_range=0.02,
    )


def keras_hub_lm(*, dropout=0.0, **sizes):
    """Return KerasHub's GPT-2 of `sizes` with random weights.

    It differs from GPT-1 in the place of its norms and in one more norm.
    """
    import keras_hub

    network = keras_hub.models.GPT2Backbone(**sizes, dropout=dropout)
    return keras_hub.models.GPT2CausalLM(network)


def transformers_lm(model, directory):
    """Return transformers' network with the weights of `model`, or None.

    Args:
        model: `GPT1CausalLM`.
        directory: pathlib.Path of a folder for its files.

    Returns:
        None where transformers or torch is not installed.
    """
    if not has_transformers():
        return None
    import transformers

    from gpt1_keras.convert import huggingface

    huggingface.write(model, directory / "peer")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    network = transformers.OpenAIGPTLMHeadModel
    return network.from_pretrained(directory / "peer").eval()


def random_transformers_lm(sizes):
    """Return transformers' network of `sizes` with weights of its own."""
    import transformers

    return transformers.OpenAIGPTLMHeadModel(
        transformers.OpenAIGPTConfig(
            vocab_size=sizes["vocabulary_size"],
            n_positions=sizes["max_sequence_length"],
            n_embd=sizes["hidden_dim"],
            n_layer=sizes["num_layers"],
            n_head=sizes["num_heads"],
        )
    )


def transformers_pipeline(model, pipeline, directory):
    """Return transformers' pipeline of a network of the same size, or None.

    Args:
        model: the `GPT1TaskModel`.
        pipeline: `Tokenizer`, whose vocabulary it uses, too.
        directory: pathlib.Path of a folder for its files.

    Returns:
        None where transformers or torch is not installed.
    """
    if not has_transformers():
        return None
    import transformers

    from gpt1_keras.convert import huggingface
    from gpt1_keras.models import builders

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    config = model.backbone.get_config() | {"num_special_tokens": 0}
    network = type(model.backbone).from_config(config)
    huggingface.write(
        builders.gpt1_causal_lm(network, pipeline), directory / "classifier"
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        directory / "classifier"
    )
    tokenizer.pad_token = tokenizer.unk_token
    classifier = transformers.OpenAIGPTForSequenceClassification
    peer = classifier.from_pretrained(
        directory / "classifier",
        num_labels=2,
        pad_token_id=tokenizer.pad_token_id,
    ).eval()
    return transformers.pipeline(
        "text-classification", model=peer, tokenizer=tokenizer, device="cpu"
    )


def has_transformers():
    """Return whether transformers and torch are installed."""
    return all(
        importlib.util.find_spec(name) for name in ("torch", "transformers")
    )


def torch_device():
    """Return the device of the peers: "cuda" or "cpu"."""
    if not importlib.util.find_spec("torch"):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def wait_for(device):
    """Wait until a GPU has done what it was asked to do."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def token_ids(*shape, vocabulary_size, seed=0):
    """Return random int32 ids."""
    draws = np.random.default_rng(seed)
    return draws.integers(1, vocabulary_size, shape).astype("int32")
