"""`train_step` on TensorFlow: a while loop over micro-batches.

Also `fit` and `predict` on replicas: those of Keras fail with several workers.
"""

import functools

import keras
import tensorflow as tf

from gpt1_keras.training import step
from gpt1_keras.training import strategy as strategy_lib
from gpt1_keras.training import strategy_tensorflow

_PREFETCH = 4  # batches kept ready


class TrainStep:
    """Mixin of `Learner` on the TensorFlow backend.

    If built in a strategy's scope, `fit` and `predict` take a dataset of known
    length and process every batch `[B, ...]` once, split among the replicas.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.is_distributed = tf.distribute.has_strategy()

    def compile(self, **kwargs):
        super().compile(**kwargs)
        # Keras would sum over the replicas again: `train_step` has done so.
        self.optimizer._all_reduce_sum_gradients = lambda pairs: pairs

    def fit(self, x, *, callbacks, **options):
        if not self.is_distributed:
            return super().fit(x, callbacks=callbacks, **options)
        strategy, stop = self.distribute_strategy, self.stop_request
        self.stop_training = False
        callbacks.on_train_begin()
        batches = self._shares(x)
        for index in range(int(x.cardinality())):
            callbacks.on_train_batch_begin(index)
            is_asked = stop is not None and stop.signal_name is not None
            requests = tf.constant(float(is_asked))
            with strategy_tensorflow.all_workers(strategy):
                found = self.distributed_step(batches, requests)
                logs = {
                    name: float(strategy.experimental_local_results(value)[0])
                    for name, value in found.items()
                }
            if stop is not None:
                stop.is_heard = logs.pop("stop_requests") > 0
            callbacks.on_train_batch_end(index, logs)
            if self.stop_training:
                break
        callbacks.on_train_end()

    def predict(self, x, *, callbacks=None, **options):
        if not self.is_distributed:
            return super().predict(x, callbacks=callbacks, **options)
        called = keras.callbacks.CallbackList(callbacks, model=self)
        called.on_predict_begin()
        batches, found = self._shares(x), []
        for index in range(int(x.cardinality())):
            called.on_predict_batch_begin(index)
            with strategy_tensorflow.all_workers(self.distribute_strategy):
                found.append(self.distributed_scores(batches))
            called.on_predict_batch_end(index)
        called.on_predict_end()
        # list of {name: [B, ...]} -> {name: [N, ...]}
        return {
            name: tf.concat([scores[name] for scores in found], axis=0).numpy()
            for name in found[0]
        }

    def _shares(self, dataset):
        """Return an endless iterator over arguments of `strategy.run`.

        Functions of the iterator are traced once, for any length. Traced for
        the length of a first batch, a resumed run would draw other masks.
        """
        strategy = self.distribute_strategy
        total = strategy.num_replicas_in_sync

        def local(context):
            per_worker = total // context.num_input_pipelines
            first = context.input_pipeline_id * per_worker

            def shares(batch):
                return tf.data.Dataset.from_tensor_slices(
                    {
                        name: value[first : first + per_worker]
                        for name, value in step.split(batch, total).items()
                    }
                )

            # Endless: workers need not agree on an end at every step.
            shared = dataset.flat_map(shares)
            return shared.prefetch(_PREFETCH * per_worker).repeat()

        return iter(strategy.distribute_datasets_from_function(local))

    @functools.cached_property
    def distributed_step(self):
        """Function from the next shares to the logs of each replica."""
        run = self.distribute_strategy.run
        return tf.function(
            lambda batches, stop: run(self.replica_step, (next(batches), stop)),
            autograph=False,
        )

    def replica_step(self, batch, stop_request):
        """Run a step on one replica, with its own random states."""
        context = tf.distribute.get_replica_context()
        replica = tf.cast(context.replica_id_in_sync_group, "int64")
        # [seed, counter]: not aggregated, so each replica changes its own copy.
        offset = tf.stack([strategy_lib.seed_offset(replica), 0])
        variables = self.non_trainable_variables
        states = list(filter(step.is_random_state, variables))
        for state in states:
            state.assign(state.value + offset)
        logs = self.train_step(batch)
        for state in states:
            state.assign(state.value - offset)
        if self.stop_request is not None:
            # The identity puts the argument on a device.
            logs["stop_requests"] = context.all_reduce(
                tf.distribute.ReduceOp.SUM, tf.identity(stop_request)
            )
        return logs

    @functools.cached_property
    def distributed_scores(self):
        """Function from the next shares to the scores of the whole batch."""
        strategy = self.distribute_strategy

        def score(batches):
            scores = strategy.run(self, (next(batches),))
            # [B / R, ...] of each replica -> [B, ...]
            return {k: strategy.gather(v, axis=0) for k, v in scores.items()}

        return tf.function(score, autograph=False)

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
