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

if keras.config.backend() == "jax":
    # Tests build the same network again and again: compile it once, fast.
    import tempfile

    import jax

    _cache = tempfile.TemporaryDirectory()
    jax.config.update("jax_compilation_cache_dir", _cache.name)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_disable_most_optimizations", True)

VOCABULARY_SIZE = 11
HIDDEN_DIM = 8
LENGTH = 6


def backbone_of(
    *, dropout=0.0, table_dropout=None, num_layers=1, num_special_tokens=0
):
    return backbone.GPT1Backbone(
        vocabulary_size=VOCABULARY_SIZE,
        num_layers=num_layers,
        num_heads=2,
        hidden_dim=HIDDEN_DIM,
        intermediate_dim=16,
        max_sequence_length=LENGTH,
        embedding_dropout=dropout if table_dropout is None else table_dropout,
        attention_dropout=dropout,
        residual_dropout=dropout,
        embedding_dropout_on="tables",
        layer_norm_epsilon=1e-5,
        initializer_range=0.2,
        num_special_tokens=num_special_tokens,
    )


def adam(learning_rate=0.01, weight_decay=0.01):
    return optimizers.AdamWithDecay(
        learning_rate=learning_rate,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-8,
        weight_decay=weight_decay,
    )


_learners = {}


def _shared(build):
    """Decorate a builder: equal options give one learner, reset."""

    @functools.wraps(build)
    def reset(**options):
        options = build.__kwdefaults__ | options
        if _has_strategy():
            return build(**options)
        policy = keras.config.dtype_policy().name
        key = (build, policy, VOCABULARY_SIZE, *sorted(options.items()))
        if key not in _learners:
            learner = build(**options)
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


def _compiled(build, loss, names, scorer, seed, learning_rate, **options):
    keras.utils.set_random_seed(seed)
    learner = learner_lib.Learner(
        build(), loss=loss, loss_names=names, scorer=scorer, **options
    )
    learner.compile(adam(learning_rate), jit_compile=False)
    return learner


@_shared
def language_model(
    *,
    seed=0,
    dropout=0.0,
    table_dropout=None,
    num_layers=1,
    micro_batch_size=None,
    clip_norm=1.0,
    learning_rate=0.01,
):
    """Return a compiled `Learner` without a head."""
    loss = losses.LanguageModelLoss(chunk_size=4)
    return _compiled(
        lambda: task_model.GPT1TaskModel(
            backbone_of(
                dropout=dropout,
                table_dropout=table_dropout,
                num_layers=num_layers,
            )
        ),
        *(loss, ("loss",), loss, seed, learning_rate),
        clip_norm=clip_norm,
        micro_batch_size=micro_batch_size,
    )


@_shared
def chooser(
    *,
    seed=0,
    lm_weight=0.5,
    micro_batch_size=None,
    dropout=0.0,
    clip_norm=1.0,
    learning_rate=0.01,
):
    """Return a compiled `Learner` that chooses between two candidates."""
    scorer = losses.LanguageModelLoss(chunk_size=4)
    loss = losses.TaskLoss(
        task_loss=losses.cross_entropy,
        language_model_loss=scorer,
        lm_weight=lm_weight,
    )
    return _compiled(
        lambda: task_model.GPT1TaskModel(
            backbone_of(dropout=dropout, num_special_tokens=3),
            heads.ChoiceHead(dropout=dropout, initializer_range=0.2),
        ),
        *(loss, ("loss", "task_loss", "lm_loss"), scorer, seed, learning_rate),
        clip_norm=clip_norm,
        micro_batch_size=micro_batch_size,
    )


class Batches:
    """Random batches, a function of the step; the first token is free."""

    def __init__(self, *, batch_size=4, candidates=1):
        self.batch_size = batch_size
        self.sequence_length = LENGTH
        self.candidates = candidates

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
        return {
            "token_ids": draws.integers(VOCABULARY_SIZE, size=shape).astype(
                "int32"
            ),
            "token_weights": weights,
            "extract_position": np.full(shape[:2], LENGTH - 1, "int32"),
        }


class LabelledBatches(Batches):
    """Batches of two candidates with `labels` `[B]`."""

    def __init__(self, *, batch_size=4):
        super().__init__(batch_size=batch_size, candidates=2)

    @property
    def spec(self):
        return super().spec | {"labels": ((self.batch_size,), "int32")}

    def __call__(self, step):
        labels = np.random.default_rng(step).integers(2, size=self.batch_size)
        return {**super().__call__(step), "labels": labels.astype("int32")}


def labelled_batch(step=0, *, batch_size=4):
    """Return a batch of two candidates with `labels` `[B]`."""
    return LabelledBatches(batch_size=batch_size)(step)


def weights_of(learner):
    """Return `{path: array}` of the trained weights."""
    return {
        variable.path: ops.convert_to_numpy(variable).copy()
        for variable in learner.trainable_variables
    }


def update(learner, batch):
    """Make one update through `fit`; return its logs as floats."""
    history = update_many(learner, batch, batch_size=len(batch["token_ids"]))
    return {name: float(values[0]) for name, values in history.items()}


def update_many(learner, examples, *, batch_size):
    """Make one update for each `batch_size` examples, in their order."""
    return learner.fit(
        examples, batch_size=batch_size, epochs=1, shuffle=False, verbose=0
    ).history
