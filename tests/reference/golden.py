"""Compare this program with what the released code computed.

KERAS_BACKEND=torch python -m tests.reference.golden FILE.npz
"""

import json
import sys

import numpy as np
from keras import ops

from gpt1_keras import precision
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import optimizers
from tests.reference import small_models
from tests.reference import tiny_learner
from tests.reference import tiny_runs


def build(meta):
    """Return the compiled `Learner` of the golden file's network."""
    backbone = small_models.network(
        vocabulary_size=meta["n_vocab"],
        num_layers=meta["n_layer"],
        num_heads=meta["n_head"],
        hidden_dim=meta["n_embd"],
        intermediate_dim=4 * meta["n_embd"],
        max_sequence_length=meta["n_ctx"],
    )
    training = tiny_runs.fine_tuning(
        clip_norm=meta["max_grad_norm"],
        lm_loss_weight=meta["lm_coef"],
        **{"softmax_over": "released", "softmax_chunk": 7},
        classifier_dropout=0.0,
    )
    task = benchmarks.benchmark("story_cloze")
    network = training.build_network(task, backbone, small_models.byte_pairs())
    trained = training.build_learner(network, task)
    trained.scorer = trained.loss_function.language_model_loss
    optimizer = optimizers.adam_with_decay(
        num_steps=meta["n_updates_total"],
        schedule=optimizers.WarmupLinear,
        peak_learning_rate=meta["lr"],
        warmup_steps=None,
        warmup_fraction=meta["lr_warmup"],
        beta_1=meta["b1"],
        beta_2=meta["b2"],
        epsilon=meta["e"],
        weight_decay=meta["l2"],
    )
    trained.compile(optimizer, jit_compile=False)
    return trained


def released_views(trained, read):
    """Return `{released name: array}`; `read(variable)` gives an array."""
    network = trained.network
    return small_models.released_arrays(network.backbone, network.head, read)


def set_weights(trained, golden):
    variables = []

    def remember(variable):
        variables.append(variable)
        return np.zeros(variable.shape, "float32")

    names = list(released_views(trained, remember))
    # The first three variables are the tables, under one name.
    ends = np.cumsum([table.shape[0] for table in variables[:2]])
    values = np.split(golden["weight/model/we"], ends)
    values += [golden[f"weight/model/{name}"] for name in names[1:]]
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value.reshape(variable.shape))


def compare(path):
    """Return `{quantity: largest absolute difference}`.

    After the updates, logits are compared up to a constant per example: the
    head's bias, whose gradient is zero, has moved by rounding noise.
    """
    golden = np.load(path)
    meta = json.loads(str(golden["meta"]))
    trained = build(meta)
    set_weights(trained, golden)
    ids, weights = golden["X"][..., 0], golden["M"].astype("float32")
    weights[..., 0] = 0.0
    is_extract = ids == meta["n_vocab"] + 2
    batch = {
        "token_ids": ids.astype("int32"),
        "token_weights": weights,
        "extract_position": is_extract.argmax(-1).astype("int32"),
        "labels": golden["Y"].astype("int32"),
    }
    found = {
        name: difference(value, golden[name])
        for name, value in forward(trained, batch).items()
    }
    logs = [tiny_learner.update(trained, batch)]
    scale = min(1.0, meta["max_grad_norm"] / logs[0]["gradient_norm"])
    found["gradients"] = max(
        difference(value / scale, golden[f"grad/model/{name}"])
        for name, value in released_gradients(trained).items()
    )
    theirs = golden["step_losses_before_update"]
    for _ in theirs[1:]:
        logs.append(tiny_learner.update(trained, batch))
    ours = [[each["task_loss"], each["lm_loss"]] for each in logs]
    found["step_losses"] = difference(np.array(ours), theirs)
    # The head's bias and those of the keys have no gradient but noise.
    views = released_views(trained, ops.convert_to_numpy)
    del views["clf/b"]
    distances = []
    for name, ours in views.items():
        theirs = np.reshape(golden[f"after/model/{name}"], ours.shape)
        pair = (tiny_learner.asymmetric(name, x) for x in (ours, theirs))
        distances.append(difference(*pair))
    found["weights_after"] = max(distances)
    for name, value in forward(trained, batch).items():
        theirs = golden[f"after_{name}"]
        if name == "clf_logits":
            value, theirs = (np.diff(x, axis=1) for x in (value, theirs))
        found[f"{name}_after"] = difference(value, theirs)
    return found


def difference(ours, theirs):
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


def released_gradients(trained):
    """Return the clipped gradients of the first step, released names."""
    # Of Adam's momentum they are a share.
    share = 1.0 - trained.optimizer.beta_1
    gradients = {
        id(variable): ops.convert_to_numpy(momentum) / share
        for variable, momentum in zip(
            trained.trainable_variables, trained.optimizer._momentums
        )
    }
    return released_views(trained, lambda variable: gradients[id(variable)])


if __name__ == "__main__":
    precision.set_dtype("float32")
    print(json.dumps(compare(sys.argv[1])))
