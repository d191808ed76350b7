"""`train_step` on JAX: a scan over micro-batches, with explicit state."""

import jax
import keras

from gpt1_keras.training import step
from gpt1_keras.training import strategy as strategy_lib

_AXIS = "batch"  # the axis of replicas in Keras's mesh
_SHARED = jax.sharding.PartitionSpec()
_SPLIT = jax.sharding.PartitionSpec(_AXIS)


class TrainStep:
    """Mixin of `Learner` on the JAX backend.

    Under a `keras.distribution.DataParallel`, every device processes its own
    share of the batch; then losses and gradients are summed over devices.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        distribution = keras.distribution.distribution()
        self.replica_mesh = None
        if distribution is not None:
            self.replica_mesh = distribution.device_mesh.backend_mesh

    def compile(self, **kwargs):
        # Without jit, the inner loops would be compiled again in every step.
        super().compile(**{**kwargs, "jit_compile": True})

    def train_step(self, state, data):
        return self._on_replicas(self._train_step, _SHARED)(state, data)

    def predict_step(self, state, data):
        compute = self._on_replicas(super().predict_step, (_SPLIT, _SHARED))
        return compute(state, data)

    def _on_replicas(self, function, out_specs):
        """Return `function(state, data)` so that replicas share the data."""
        if self.replica_mesh is None:
            return function
        return jax.shard_map(
            function,
            mesh=self.replica_mesh,
            in_specs=(_SHARED, _SPLIT),
            out_specs=out_specs,
            check_vma=False,
        )

    def _train_step(self, state, data):
        trainable, non_trainable, optimizer, metrics = state
        count = self.count_micro_batches(data["token_ids"])
        if self.replica_mesh is not None:
            replica = jax.lax.axis_index(_AXIS).astype("uint32")
            offset = strategy_lib.seed_offset(replica)
            non_trainable = self._shift_seeds(non_trainable, offset)
        sums, totals, non_trainable = self._accumulate(
            trainable, non_trainable, step.split(data, count)
        )
        if self.replica_mesh is not None:
            non_trainable = self._shift_seeds(non_trainable, -offset)
            sums, totals = jax.lax.psum((sums, totals), _AXIS)
            count *= self.replica_mesh.size
        logs, gradients = step.finish(sums, totals, count, self.clip_norm)
        trainable, optimizer = self.optimizer.stateless_apply(
            optimizer, gradients, trainable
        )
        return logs, (trainable, non_trainable, optimizer, metrics)

    def _shift_seeds(self, values, offset):
        """Add `offset` to the seed of each state `[seed, counter]`."""
        return [
            value.at[0].add(offset) if step.is_random_state(variable) else value
            for variable, value in zip(self.non_trainable_variables, values)
        ]

    def _accumulate(self, trainable, starts, batches):
        """Return sums of losses and gradients, and the new random states."""
        compute = jax.grad(self._stateless_loss, has_aux=True)
        shared = set(map(id, self.table_states))
        is_shared = [id(v) in shared for v in self.non_trainable_variables]

        def micro_step(carry, batch):
            totals, sums, states = carry
            states = [
                starts[i] if is_shared[i] else state
                for i, state in enumerate(states)
            ]
            gradients, (losses, states) = compute(trainable, states, batch)
            totals = [t + g for t, g in zip(totals, gradients)]
            sums = {key: sums[key] + losses[key] for key in sums}
            return (totals, sums, states), None

        totals = [jax.numpy.zeros(v.shape, "float32") for v in trainable]
        sums = {key: jax.numpy.zeros(()) for key in self.loss_function.names}
        carry = (totals, sums, starts)
        (totals, sums, states), _ = jax.lax.scan(micro_step, carry, batches)
        return sums, totals, states

    def _stateless_loss(self, trainable, non_trainable, batch):
        # Not the network's `stateless_call`, whose order of variables differs
        # if some are frozen.
        variables = [*self.trainable_variables, *self.non_trainable_variables]
        values = [*trainable, *non_trainable]
        mapping = list(zip(variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping) as scope:
            losses = self.training_losses(batch)
        states = map(scope.get_current_value, self.non_trainable_variables)
        return losses["loss"], (losses, list(states))
