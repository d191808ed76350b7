"""A network of a few hundred weights and batches for it, for tests.

Learners of equal options are one object, reset to its first state whenever a
test asks for it: compiling takes longest.
"""

import functools

import keras
import numpy as np
from keras import ops

from gpt1_keras.layers import heads
from gpt1_keras.models import backbone
from gpt1_keras.models import task_model
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from gpt1_keras.training import optimizers
from tests.reference import small_models

if keras.config.backend() == "jax":
    # Tests build the same network again and again: compile it once, fast.
    import tempfile

    import jax

    _cache = tempfile.TemporaryDirectory()
    jax.config.update("jax_compilation_cache_dir", _cache.name)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_disable_most_optimizations", True)

VOCABULARY_SIZE = 11
LENGTH = 6


def backbone_of(*, dropout=0.0, **sizes):
    sizes = {
        "vocabulary_size": VOCABULARY_SIZE,
        "intermediate_dim": 16,
        "max_sequence_length": LENGTH,
        "embedding_dropout": dropout,
        "attention_dropout": dropout,
        "residual_dropout": dropout,
        "initializer_range": 0.2,
    } | sizes
    return backbone.GPT1Backbone(**small_models.SIZES | sizes)


def adam(learning_rate=0.01, **changes):
    return optimizers.AdamWithDecay(
        learning_rate=learning_rate, **small_models.ADAM | changes
    )


_learners = {}


def _shared(build):
    """Decorate a builder: equal options give one learner, reset."""

    @functools.wraps(build)
    def reset(*, seed=0, **options):
        policy = keras.config.dtype_policy().name
        key = (build, policy, VOCABULARY_SIZE, seed, *sorted(options.items()))
        if key not in _learners or _has_strategy():
            keras.utils.set_random_seed(seed)
            learner = build(**options)
            if _has_strategy():
                return learner
            _learners[key] = learner, state_of(learner)
        learner, state = _learners[key]
        # JAX's `fit` leaves a state of its own where an exception ended it.
        learner._jax_state, learner._jax_state_synced = None, True
        for variable, value in zip(_variables(learner), state):
            variable.assign(value)
        learner.stop_request, learner.stop_training = None, False
        return learner

    return reset


def _has_strategy():
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.distribute.has_strategy()
    return keras.distribution.distribution() is not None


def _variables(learner):
    return learner.variables + learner.optimizer.variables


def state_of(learner):
    """Return every variable as an array, those of the optimizer too."""
    return [ops.convert_to_numpy(v).copy() for v in _variables(learner)]


def _compiled(network, *, learning_rate=0.01, clip_norm=1.0, **options):
    learner = learner_lib.Learner(network, clip_norm=clip_norm, **options)
    learner.compile(adam(learning_rate), jit_compile=False)
    return learner


@_shared
def language_model(*, dropout=0.0, table_dropout=None, num_layers=1, **options):
    """Return a compiled `Learner` without a head."""
    loss = losses.LanguageModelLoss(chunk_size=4)
    sizes = {"num_layers": num_layers, "num_special_tokens": 0}
    if table_dropout is not None:
        sizes["embedding_dropout"] = table_dropout
    network = task_model.GPT1TaskModel(backbone_of(dropout=dropout, **sizes))
    return _compiled(network, loss=loss, scorer=loss, **options)


@_shared
def chooser(*, dropout=0.0, **options):
    """Return a compiled `Learner` that chooses between two candidates."""
    scorer = losses.LanguageModelLoss(chunk_size=4)
    loss = losses.TaskLoss(
        task_loss=losses.cross_entropy,
        language_model_loss=scorer,
        lm_weight=0.5,
    )
    network = task_model.GPT1TaskModel(
        backbone_of(dropout=dropout, num_layers=1),
        heads.ChoiceHead(dropout=dropout, initializer_range=0.2),
    )
    options |= {"loss": loss, "scorer": scorer}
    return _compiled(network, **options)


class Batches:
    """Random batches, a function of the step; the first token is free."""

    candidates = 1

    def __init__(self, *, batch_size=4):
        self.batch_size = batch_size

    @property
    def spec(self):
        shape = (self.batch_size, self.candidates, LENGTH)
        return {
            "token_ids": (shape, "int32"),
            "token_weights": (shape, "float32"),
            "extract_position": (shape[:2], "int32"),
        }

    def __call__(self, step):
        draws = np.random.default_rng(int(step))
        shape = self.spec["token_ids"][0]
        weights = (draws.random(shape) < 0.7).astype("float32")
        weights[..., 0] = 0.0
        weights[..., 1] = 1.0
        ids = draws.integers(VOCABULARY_SIZE, size=shape)
        return {
            "token_ids": ids.astype("int32"),
            "token_weights": weights,
            "extract_position": np.full(shape[:2], LENGTH - 1, "int32"),
        }


class LabelledBatches(Batches):
    """Batches of two candidates with `labels` `[B]`."""

    candidates = 2

    @property
    def spec(self):
        return super().spec | {"labels": ((self.batch_size,), "int32")}

    def __call__(self, step):
        labels = np.random.default_rng(step).integers(2, size=self.batch_size)
        return {**super().__call__(step), "labels": labels.astype("int32")}


def tensors(batch):
    return {key: ops.convert_to_tensor(value) for key, value in batch.items()}


def weights_of(learner):
    """Return `{path: array}` of the trained weights."""
    return {
        variable.path: ops.convert_to_numpy(variable).copy()
        for variable in learner.trainable_variables
    }


def update(learner, batch):
    """Make one update through `fit`; return its logs as floats."""
    size = len(batch["token_ids"])
    options = {"epochs": 1, "shuffle": False, "verbose": 0}
    history = learner.fit(batch, batch_size=size, **options).history
    return {name: float(values[0]) for name, values in history.items()}


def asymmetric(path, value):
    """Leave out what changes no loss: its gradient is rounding noise.

    A constant added to all keys changes no attention, and one added to both
    choices changes no softmax.
    """
    if path.endswith(("query_key_value/bias", "c_attn/b")):
        return np.delete(value, np.s_[len(value) // 3 : 2 * len(value) // 3])
    return value.ravel()[: 0 if path.endswith("/dense/bias") else None]
