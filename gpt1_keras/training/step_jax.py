"""`train_step` under JAX: a scan over micro-batches, state passed through."""

import jax

from gpt1_keras.training import step


class TrainStep:
    """Mixin of `Learner` on the JAX backend."""

    def compile(self, **kwargs):
        # Without jit, every update would compile the loops inside it anew.
        super().compile(**{**kwargs, "jit_compile": True})

    def train_step(self, state, data):
        trainable, non_trainable, optimizer, metrics = state
        count = step.count_micro_batches(data, self.micro_batch_size)
        compute = jax.grad(self._stateless_loss, has_aux=True)

        def micro_step(carry, batch):
            totals, sums, non_trainable = carry
            gradients, (losses, non_trainable) = compute(
                trainable, non_trainable, batch
            )
            totals = [t + g for t, g in zip(totals, gradients)]
            sums = {key: sums[key] + losses[key] for key in sums}
            return (totals, sums, non_trainable), None

        start = (
            [jax.numpy.zeros(v.shape, "float32") for v in trainable],
            {key: jax.numpy.zeros(()) for key in self.loss_names},
            non_trainable,
        )
        (totals, sums, non_trainable), _ = jax.lax.scan(
            micro_step, start, step.cut(data, count)
        )
        logs, gradients = step.finish(sums, totals, count, self.clip_norm)
        trainable, optimizer = self.optimizer.stateless_apply(
            optimizer, gradients, trainable
        )
        return logs, (trainable, non_trainable, optimizer, metrics)

    def _stateless_loss(self, trainable, non_trainable, batch):
        outputs, non_trainable = self.network.stateless_call(
            trainable, non_trainable, self.network_inputs(batch), training=True
        )
        losses = self.loss_function(outputs, batch)
        return losses["loss"], (losses, non_trainable)
