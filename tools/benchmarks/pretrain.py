"""Tokens per second of one pretraining step: forward, backward, update.

Ours in two precisions (compiled on torch), beside transformers' network in
bfloat16 with a fused AdamW, as it is and under torch.compile. All start from
the same weights and have the paper's dropout; `no dropout` is ours in bfloat16
without it, which allows another attention kernel on a GPU. `keras_hub` is
KerasHub's GPT-2 of the same size, with Keras's AdamW and `fit`, in bfloat16; it
has weights of its own. `products` is the limit: only the matrix products of
such a step, in bfloat16.
"""

import pathlib
import tempfile

import numpy as np

from tools.benchmarks import contest
from tools.benchmarks import networks

_DROPOUT = 0.1
# Steps of one timing, so that starting `fit` does not count, and sequences.
_STEPS = {"cpu": 4, "cuda": 20}
_BATCH_SIZE = {"cpu": 4, "cuda": 32}
_SOFTMAX_CHUNK = {"cpu": 512, "gpu": 2048}
_ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01}


def measure(*, sizes, rounds):
    """Return what was measured, a dict (`contest.run`).

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int.
    """
    import keras  # not above: `memory` counts what transformers needs alone

    device = networks.torch_device()
    num_steps = _STEPS[device]
    ids = networks.token_ids(
        *(_BATCH_SIZE[device], sizes["max_sequence_length"]),
        vocabulary_size=sizes["vocabulary_size"],
    )
    contenders, losses = {}, {}
    for name, dtype, dropout in (
        ("no dropout", "mixed_bfloat16", 0.0),
        ("float32", "float32", _DROPOUT),
        ("bfloat16", "mixed_bfloat16", _DROPOUT),
    ):
        keras.config.set_dtype_policy(dtype)
        keras.utils.set_random_seed(1)
        model = networks.causal_lm(**sizes, dropout=dropout)
        contenders[name], losses[name] = ours(
            model.backbone,
            ids,
            num_steps=num_steps,
            jit_compile=keras.config.backend() == "torch",
        )
    for name in ("transformers", "compiled"):
        with tempfile.TemporaryDirectory() as directory:
            peer = networks.transformers_lm(model, pathlib.Path(directory))
        if peer is not None:
            contenders[name], losses[name] = transformers(
                peer, ids, name == "compiled", num_steps=num_steps
            )
    contenders["keras_hub"] = _keras_hub(
        networks.keras_hub_lm(**sizes, dropout=_DROPOUT),
        ids,
        num_steps=num_steps,
    )
    if networks.has_transformers():
        contenders["products"] = _products(sizes, ids.size, num_steps)
    # The networks have learned nothing yet: evaluated before the first step.
    before = {name: round(loss(), 4) for name, loss in losses.items()}
    found, _ = contest.run(
        contenders,
        rounds=rounds,
        work=num_steps * ids.size,
        peer_of="bfloat16",
        # Training it first gives eager torch six times the page faults.
        apart=["keras_hub"],
    )
    return {
        "unit": "tokens/s",
        "batch": list(ids.shape),
        **found,
        "loss_before": before,
        "losses_equal": max(before.values()) - min(before.values()) < 0.01,
    }


def ours(backbone, ids, *, num_steps, micro_batch_size=None, jit_compile=False):
    """Return two functions without arguments: run steps; return the loss.

    Args:
        backbone: `GPT1Backbone`.
        ids: int array `[B, T]`, or `[B, C, T]` with candidates.
        num_steps: int.
        micro_batch_size: int, sequences per forward pass; None: all.
        jit_compile: bool. See `strategy.Devices`.
    """
    from gpt1_keras import device
    from gpt1_keras.data import loaders
    from gpt1_keras.models import task_model
    from gpt1_keras.training import learner
    from gpt1_keras.training import losses
    from gpt1_keras.training import optimizers

    loss = losses.LanguageModelLoss(chunk_size=_SOFTMAX_CHUNK[device.kind()])
    trained = learner.Learner(
        task_model.GPT1TaskModel(backbone),
        loss=loss,
        scorer=loss,
        clip_norm=1.0,
        micro_batch_size=micro_batch_size,
    )
    trained.compile(
        optimizer=optimizers.AdamWithDecay(learning_rate=1e-4, **_ADAM),
        jit_compile=jit_compile,
    )
    # [B, T] -> [B, 1, T]
    ids = ids[:, None] if ids.ndim == 2 else ids
    batch = {
        "token_ids": ids,
        "token_weights": np.ones_like(ids, "float32"),
    }

    def steps():
        data = loaders.load(_Same(batch), first_step=0, num_steps=num_steps)
        trained.fit(data, verbose=0, shuffle=False)

    def mean_loss():
        scores = trained.predict_on_batch(batch)
        return -float(
            np.sum(scores["log_probability"]) / np.sum(scores["weight"])
        )

    return steps, mean_loss


class _Same:
    """The same batch for every step, in the form that `loaders` takes."""

    def __init__(self, batch):
        self._batch = batch
        self.spec = {k: (v.shape, v.dtype.name) for k, v in batch.items()}

    def __call__(self, step):
        return self._batch


def transformers(peer, ids, is_compiled, *, num_steps):
    """Return the two functions of `ours` for transformers' network `peer`."""
    import torch

    device = networks.torch_device()
    peer = peer.to(device)
    inputs = torch.from_numpy(ids).long().to(device)
    forward = torch.compile(peer) if is_compiled else peer
    optimizer = torch.optim.AdamW(
        peer.parameters(),
        lr=1e-4,
        weight_decay=_ADAM["weight_decay"],
        fused=True,
    )

    def loss():
        with torch.autocast(device, torch.bfloat16):
            return forward(input_ids=inputs, labels=inputs).loss

    def steps():
        peer.train()
        for _ in range(num_steps):
            optimizer.zero_grad()
            loss().backward()
            torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
            optimizer.step()
        networks.wait_for(device)

    def mean_loss():
        peer.eval()
        with torch.no_grad():
            return float(peer(input_ids=inputs, labels=inputs).loss)

    return steps, mean_loss


def _keras_hub(peer, ids, *, num_steps):
    """Return a function that trains KerasHub's network `peer`."""
    import keras

    peer.compile(
        optimizer=keras.optimizers.AdamW(
            1e-4, weight_decay=_ADAM["weight_decay"], global_clipnorm=1.0
        ),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    # [B, T] -> [S * B, T]
    tokens = np.tile(ids, (num_steps, 1))
    targets = np.roll(tokens, -1, axis=1)
    weights = np.ones_like(tokens, "float32")
    weights[:, -1] = 0.0
    inputs = {"token_ids": tokens, "padding_mask": np.ones_like(tokens)}

    def steps():
        peer.fit(
            inputs,
            targets,
            sample_weight=weights,
            batch_size=len(ids),
            shuffle=False,
            verbose=0,
        )

    return steps


def _products(sizes, num_tokens, num_steps):
    """Return a function that multiplies what a step multiplies, in bfloat16.

    Each matrix is multiplied once forward and twice backward; attention's
    products are counted as if they were one matrix `[T, D]` per layer.
    """
    import torch

    device = networks.torch_device()
    width, inner = sizes["hidden_dim"], sizes["intermediate_dim"]
    in_a_block = (
        (width, 3 * width),
        (width, width),
        (width, inner),
        (inner, width),
    )
    shapes = [
        *in_a_block * sizes["num_layers"],
        *[(width, sizes["max_sequence_length"])] * 2 * sizes["num_layers"],
        (width, sizes["vocabulary_size"]),
    ]

    def random(*shape):
        return torch.randn(shape, dtype=torch.bfloat16, device=device)

    made = {
        (a, b): (random(num_tokens, a), random(a, b), random(num_tokens, b))
        for a, b in set(shapes)
    }

    def multiply():
        for shape in shapes * num_steps:
            x, kernel, y = made[shape]
            torch.matmul(x, kernel)
            torch.matmul(y, kernel.T)
            torch.matmul(x.T, y)
        networks.wait_for(device)

    return multiply
