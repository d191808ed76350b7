"""A network with its loss and optimizer, trained by `fit` on any backend."""

import importlib

import keras

from gpt1_keras import errors
from gpt1_keras.layers import embedding
from gpt1_keras.training import callbacks as callbacks_lib
from gpt1_keras.training import step
from gpt1_keras.training import strategy as strategy_lib

if keras.config.backend() not in strategy_lib.STRATEGIES:
    raise errors.InputError(
        f"Keras's backend is {keras.config.backend()}: set KERAS_BACKEND, or"
        " the backend in keras.json, to tensorflow, jax or torch"
    )
_step = importlib.import_module(
    f"gpt1_keras.training.step_{keras.config.backend()}"
)


class Learner(_step.TrainStep, keras.Model):
    """Keras model whose `fit` trains a network, whose `predict` scores text.

    Batches are dicts of `[B, ...]` arrays (`token_ids`, `token_weights`,
    ...). Logs are values of a single step, not means over the epoch.

    Args:
        network: functional model from dict to dict, such as `GPT1TaskModel`.
        loss: a loss of `training.losses`, or None for prediction only.
        scorer: object whose `score(outputs, batch)` is what `predict` returns
            about the language model, such as `LanguageModelLoss`, or None.
        clip_norm: float. Largest global norm of the gradient; 0: no clipping.
            Required for training.
        micro_batch_size, full_length: see `step.count_micro_batches`.
    """

    def __init__(
        self,
        network,
        *,
        loss=None,
        scorer=None,
        clip_norm=None,
        micro_batch_size=None,
        full_length=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if limit := keras.config.max_steps_per_epoch():
            raise errors.InputError(
                f"Keras would end training and scoring after {limit} steps:"
                " unset KERAS_MAX_STEPS_PER_EPOCH"
            )
        self.network = network
        self.loss_function = loss
        self.scorer = scorer
        self.clip_norm = clip_norm
        self.micro_batch_size = micro_batch_size
        self.full_length = full_length
        # The `fit.StopRequest` that several workers share.
        self.stop_request = None
        # Random states of dropout on the embedding tables. All micro-batches
        # of a step share its masks, as in the released code.
        self.table_states = [
            state
            for layer in network.layers
            if isinstance(layer, embedding.TableDropoutEmbedding)
            for state in filter(step.is_random_state, layer.variables)
        ]
        self.built = True

    def compile(self, optimizer, **kwargs):
        """Compile, and build the optimizer so that it can be restored."""
        super().compile(optimizer=optimizer, **kwargs)
        self.optimizer.build(self.trainable_variables)

    def fit(self, x=None, *, callbacks=None, **options):
        """See `keras.Model.fit`; here callbacks get the logs as tensors."""
        called = callbacks_lib.Callbacks(
            list(callbacks or ()), add_history=True, model=self
        )
        return super().fit(x, callbacks=called, **options)

    def network_inputs(self, batch):
        return {key: batch[key] for key in self.network.input}

    def count_micro_batches(self, token_ids):
        return step.count_micro_batches(
            token_ids, self.micro_batch_size, self.full_length
        )

    def training_losses(self, batch):
        """Return the losses of one (micro-)batch, with dropout."""
        outputs = self.network_outputs(self.network_inputs(batch))
        return self.loss_function(outputs, batch)

    def network_outputs(self, inputs):
        return self.network(inputs, training=True)

    def call(self, batch, training=False):
        """Return a dict of scores; with a head also of `logits` `[B, Y]`."""
        outputs = self.network(self.network_inputs(batch), training=training)
        scores = self.scorer.score(outputs, batch) if self.scorer else {}
        if "logits" in outputs:
            scores["logits"] = outputs["logits"]
        return scores
