"""`train_step` on TensorFlow: a while loop over micro-batches."""

import tensorflow as tf

from gpt1_keras.training import step
from gpt1_keras.training import strategy_tensorflow


class TrainStep:
    """Mixin of `Learner` on the TensorFlow backend.

    If built in a strategy's scope, `fit` and `predict` split every batch among
    its replicas.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.is_distributed = tf.distribute.has_strategy()
        # Compiled functions of `strategy_tensorflow`.
        self.distributed_step = self.distributed_scores = None

    def fit(self, x, *, callbacks, **options):
        if not self.is_distributed:
            return super().fit(x, callbacks=callbacks, **options)
        return strategy_tensorflow.fit(self, x, callbacks)

    def predict(self, x, *, callbacks=None, **options):
        if not self.is_distributed:
            return super().predict(x, callbacks=callbacks, **options)
        return strategy_tensorflow.predict(self, x, callbacks or ())

    def train_step(self, data):
        count = self.count_micro_batches(data["token_ids"])
        if isinstance(count, int) and count == 1:
            sums, gradients = self._gradients(data)
        else:
            sums, gradients = self._accumulate(step.split(data, count), count)
        context = tf.distribute.get_replica_context()
        replicas = context.num_replicas_in_sync
        if replicas > 1:
            sums, gradients = context.all_reduce(
                tf.distribute.ReduceOp.SUM, (sums, gradients)
            )
        logs, gradients = step.finish(
            sums, gradients, count * replicas, self.clip_norm
        )
        self.optimizer.apply(gradients, self.trainable_variables)
        return logs

    def _gradients(self, batch):
        with tf.GradientTape() as tape:
            losses = self.training_losses(batch)
        gradients = tape.gradient(losses["loss"], self.trainable_variables)
        # The gradient of a look-up is sparse; clipping and decay need it
        # dense, as in the released code (utils.py, lines 117-124).
        return losses, [tf.convert_to_tensor(g) for g in gradients]

    def _accumulate(self, batches, count):
        starts = [tf.identity(state.value) for state in self.table_states]

        def body(index, sums, totals):
            for state, start in zip(self.table_states, starts):
                state.assign(start)
            losses, gradients = self._gradients(
                {key: value[index] for key, value in batches.items()}
            )
            sums = {key: sums[key] + losses[key] for key in sums}
            totals = [t + g for t, g in zip(totals, gradients)]
            return index + 1, sums, totals

        sums = {key: tf.zeros(()) for key in self.loss_function.names}
        totals = [tf.zeros(v.shape) for v in self.trainable_variables]
        _, sums, totals = tf.while_loop(
            lambda index, *state: index < count,
            body,
            (0, sums, totals),
            parallel_iterations=1,
        )
        return sums, totals
