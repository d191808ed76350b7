"""Compare this program with what the released code computed.

    KERAS_BACKEND=torch python -m tests.reference.golden FILE.npz

prints one JSON object: quantity -> largest absolute difference. The network
is built from `meta`, the weights are set under the released names.
"""

import json
import sys

import keras
import numpy as np
from keras import ops

from gpt1_keras.layers import heads
from gpt1_keras.models import backbone
from gpt1_keras.models import task_model
from gpt1_keras.training import learner
from gpt1_keras.training import losses
from gpt1_keras.training import optimizers

# Their gradient is zero by symmetry: rounding noise that Adam blows up.
KEY_BIAS = "c_attn/b"
HEAD_BIAS = "clf/b"

BLOCK_NAMES = {
    "attn/c_attn/w": ("attention", "query_key_value", "kernel"),
    "attn/c_attn/b": ("attention", "query_key_value", "bias"),
    "attn/c_proj/w": ("attention", "output_dense", "kernel"),
    "attn/c_proj/b": ("attention", "output_dense", "bias"),
    "ln_1/g": ("attention_norm", "gamma"),
    "ln_1/b": ("attention_norm", "beta"),
    "mlp/c_fc/w": ("feed_forward", "intermediate_dense", "kernel"),
    "mlp/c_fc/b": ("feed_forward", "intermediate_dense", "bias"),
    "mlp/c_proj/w": ("feed_forward", "output_dense", "kernel"),
    "mlp/c_proj/b": ("feed_forward", "output_dense", "bias"),
    "ln_2/g": ("feed_forward_norm", "gamma"),
    "ln_2/b": ("feed_forward_norm", "beta"),
}


def build(meta):
    """Return the compiled `Learner` of the golden file's network."""
    network = task_model.GPT1TaskModel(
        backbone.GPT1Backbone(
            vocabulary_size=meta["n_vocab"],
            num_special_tokens=3,
            num_layers=meta["n_layer"],
            num_heads=meta["n_head"],
            hidden_dim=meta["n_embd"],
            intermediate_dim=4 * meta["n_embd"],
            max_sequence_length=meta["n_ctx"],
            embedding_dropout=0.0,
            attention_dropout=0.0,
            residual_dropout=0.0,
            embedding_dropout_on="tables",
            layer_norm_epsilon=1e-5,
            initializer_range=0.02,
        ),
        heads.ChoiceHead(dropout=0.0, initializer_range=0.02),
    )
    language_model = losses.LanguageModelLoss(
        chunk_size=7, softmax_over="released"
    )
    trained = learner.Learner(
        network,
        loss=losses.TaskLoss(
            task_loss=losses.cross_entropy,
            language_model_loss=language_model,
            lm_weight=meta["lm_coef"],
        ),
        loss_names=("loss", "task_loss", "lm_loss"),
        scorer=language_model,
        clip_norm=meta["max_grad_norm"],
    )
    trained.compile(optimizer(meta), jit_compile=False)
    return trained


def optimizer(meta):
    """Return the optimizer with the golden file's hyperparameters."""
    num_steps = meta["n_updates_total"]
    return optimizers.AdamWithDecay(
        learning_rate=optimizers.WarmupLinear(
            peak_learning_rate=meta["lr"],
            num_steps=num_steps,
            warmup_steps=meta["lr_warmup"] * num_steps,
        ),
        beta_1=meta["b1"],
        beta_2=meta["b2"],
        epsilon=meta["e"],
        weight_decay=meta["l2"],
    )


def released_views(trained, read):
    """Return `{released name: array}`; `read(variable)` gives an array."""
    network = trained.network
    embedding = network.backbone.token_and_position_embedding
    views = {
        "we": np.concatenate(
            [
                read(embedding.token_embeddings),
                read(embedding.special_embeddings),
                read(embedding.position_embeddings),
            ]
        ),
        "clf/w": read(network.head.dense.kernel),
        "clf/b": read(network.head.dense.bias),
    }
    for i, block in enumerate(network.backbone.decoder_blocks):
        for name, path in BLOCK_NAMES.items():
            value = block
            for attribute in path:
                value = getattr(value, attribute)
            views[f"h{i}/{name}"] = read(value)
    return views


def set_weights(trained, golden):
    """Write the golden weights into the network."""
    embedding = trained.network.backbone.token_and_position_embedding
    tables = (
        embedding.token_embeddings,
        embedding.special_embeddings,
        embedding.position_embeddings,
    )
    ends = np.cumsum([table.shape[0] for table in tables])[:-1]
    rows = np.split(golden["weight/model/we"], ends)
    for table, value in zip(tables, rows):
        table.assign(value)

    variables = []

    def remember(variable):
        variables.append(variable)
        return np.zeros(variable.shape, "float32")

    names = list(released_views(trained, remember))
    # The first three variables are the tables, under one name.
    for variable, name in zip(variables[3:], names[1:]):
        value = golden[f"weight/model/{name}"]
        variable.assign(value.reshape(variable.shape))


def batch_of(golden):
    """Return the batch dict of the golden `X`, `M`, `Y`."""
    ids, mask = golden["X"][..., 0], golden["M"]
    meta = json.loads(str(golden["meta"]))
    extract_id = meta["n_vocab"] + 2
    weights = mask.astype("float32").copy()
    weights[..., 0] = 0.0
    return {
        "token_ids": ids.astype("int32"),
        "token_weights": weights,
        "extract_position": (ids == extract_id).argmax(-1).astype("int32"),
        "labels": golden["Y"].astype("int32"),
    }


def gradients_of(trained, batch):
    """Return the loss's gradient, unclipped, for `trainable_variables`."""
    backend = keras.config.backend()
    tensors = {k: ops.convert_to_tensor(v) for k, v in batch.items()}
    if backend == "tensorflow":
        return trained._gradients(tensors)[1]
    if backend == "jax":
        import jax

        gradient = jax.grad(trained._stateless_loss, has_aux=True)
        gradients, _ = jax.jit(gradient)(
            [v.value for v in trained.trainable_variables],
            [v.value for v in trained.non_trainable_variables],
            tensors,
        )
        return gradients
    trained.zero_grad()
    trained.training_losses(tensors)["loss"].backward()
    return [v.value.grad.detach() for v in trained.trainable_variables]


def compare(path):
    """Return `{quantity: largest absolute difference}`.

    After the updates, logits are compared up to a constant per example: the
    head's bias, whose gradient is zero, has moved by rounding noise.
    """
    golden = np.load(path)
    meta = json.loads(str(golden["meta"]))
    trained = build(meta)
    set_weights(trained, golden)
    batch = batch_of(golden)
    found = {
        name: difference(value, golden[name])
        for name, value in forward(trained, batch).items()
    }
    found["gradients"] = max(
        difference(value, golden[f"grad/model/{name}"])
        for name, value in released_gradients(trained, batch).items()
    )
    found["step_losses"] = difference(
        update(trained, batch, len(golden["step_losses_before_update"])),
        golden["step_losses_before_update"],
    )
    found["weights_after"] = max(
        difference(*without_symmetric(name, value, golden, meta["n_embd"]))
        for name, value in released_views(trained, ops.convert_to_numpy).items()
        if name != HEAD_BIAS
    )
    for name, value in forward(trained, batch).items():
        theirs = golden[f"after_{name}"]
        if name == "clf_logits":
            value, theirs = (np.diff(x, axis=1) for x in (value, theirs))
        found[f"{name}_after"] = difference(value, theirs)
    return found


def difference(ours, theirs):
    """Return the largest absolute difference as a float."""
    return float(np.abs(ours - np.reshape(theirs, ours.shape)).max())


def forward(trained, batch):
    """Return the golden file's forward values, computed by us."""
    scores = trained.predict(batch, batch_size=len(batch["labels"]), verbose=0)
    logits = scores["logits"]
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return {
        "clf_logits": logits,
        "clf_losses": -np.take_along_axis(log_p, batch["labels"][:, None], 1),
        "lm_losses": -scores["log_probability"] / scores["weight"],
    }


def released_gradients(trained, batch):
    """Return the gradients under the released names."""
    gradients = {
        id(variable): ops.convert_to_numpy(gradient)
        for variable, gradient in zip(
            trained.trainable_variables, gradients_of(trained, batch)
        )
    }
    return released_views(trained, lambda variable: gradients[id(variable)])


def update(trained, batch, num_updates):
    """Train on the batch; return (task loss, LM loss) `[num_updates, 2]`."""
    found = []
    for _ in range(num_updates):
        logs = trained.fit(
            batch,
            batch_size=len(batch["labels"]),
            epochs=1,
            verbose=0,
            shuffle=False,
        ).history
        found.append([logs["task_loss"][0], logs["lm_loss"][0]])
    return np.array(found)


def without_symmetric(name, ours, golden, width):
    """Return our weight and the golden one, a key's bias left out."""
    theirs = np.reshape(golden[f"after/model/{name}"], ours.shape)
    if name.endswith(KEY_BIAS):
        keep = np.r_[0:width, 2 * width : 3 * width]
        return ours[keep], theirs[keep]
    return ours, theirs


if __name__ == "__main__":
    print(json.dumps(compare(sys.argv[1])))
