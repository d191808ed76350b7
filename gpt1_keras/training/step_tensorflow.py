"""`train_step` under TensorFlow: a while loop over micro-batches."""

import tensorflow as tf

from gpt1_keras.training import step


class TrainStep:
    """Mixin of `Learner` on the TensorFlow backend."""

    def train_step(self, data):
        count = step.count_micro_batches(data, self.micro_batch_size)
        if count == 1:
            sums, gradients = self._gradients(data)
        else:
            sums, gradients = self._accumulate(step.cut(data, count), count)
        logs, gradients = step.finish(sums, gradients, count, self.clip_norm)
        self.optimizer.apply(gradients, self.trainable_variables)
        return logs

    def _gradients(self, batch):
        with tf.GradientTape() as tape:
            losses = self.training_losses(batch)
        gradients = tape.gradient(losses["loss"], self.trainable_variables)
        # The gradient of a look-up is sparse: clipping and decay need it
        # dense, as in the released code (utils.py, lines 117-124).
        return losses, [tf.convert_to_tensor(g) for g in gradients]

    def _accumulate(self, batches, count):
        def body(index, sums, totals):
            losses, gradients = self._gradients(
                {key: value[index] for key, value in batches.items()}
            )
            sums = {key: sums[key] + losses[key] for key in sums}
            totals = [t + g for t, g in zip(totals, gradients)]
            return index + 1, sums, totals

        sums = {key: tf.zeros(()) for key in self.loss_names}
        totals = [tf.zeros(v.shape) for v in self.trainable_variables]
        _, sums, totals = tf.while_loop(
            lambda index, *state: index < count,
            body,
            (0, sums, totals),
            parallel_iterations=1,
        )
        return sums, totals
