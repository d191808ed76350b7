"""GPT-1 in float64 numpy and scipy: one sequence and one head at a time.

Written from the released finetune-transformer-lm (train.py, lines 22-203) and
from nothing of gpt1_keras. Weights are a dict of arrays under the released
names: `we` holds the rows of tokens, special tokens and positions, in this
order; `h0/attn/c_attn/w` and the like the blocks; `clf/w`, `clf/b` the head.
"""

import numpy as np
from scipy import special

EPSILON = 1e-5
# Of `small_models.network`.
NUM_POSITIONS, NUM_LAYERS, NUM_HEADS = 12, 2, 2


def gelu(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


def norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + EPSILON) + bias


def attention(x, weights, num_heads, shares=None):
    """`x` [T, D]; `weights(name)` gives the arrays of `h<i>/attn/`.

    A list `shares` receives the probabilities [T, T] of each head.
    """
    length, width = x.shape
    projected = x @ weights("c_attn/w") + weights("c_attn/b")  # [T, 3D]
    queries, keys, values = np.split(projected, 3, axis=-1)
    allowed = np.tril(np.ones((length, length)))
    size = width // num_heads
    heads = []
    for head in range(num_heads):
        part = slice(head * size, (head + 1) * size)
        scores = queries[:, part] @ keys[:, part].T / np.sqrt(size)
        scores = scores * allowed - 1e9 * (1 - allowed)
        probabilities = special.softmax(scores, axis=-1)
        if shares is not None:
            shares.append(probabilities)
        heads.append(probabilities @ values[:, part])
    merged = np.concatenate(heads, axis=-1)
    return merged @ weights("c_proj/w") + weights("c_proj/b")


def feed_forward(x, weights):
    x = gelu(x @ weights("c_fc/w") + weights("c_fc/b"))
    return x @ weights("c_proj/w") + weights("c_proj/b")


def block(x, weights, num_heads, shares=None):
    """`x` [T, D]; `weights(name)` gives the arrays of `h<i>/`."""
    attended = attention(
        x, lambda name: weights("attn/" + name), num_heads, shares
    )
    n = norm(x + attended, weights("ln_1/g"), weights("ln_1/b"))
    fed = feed_forward(n, lambda name: weights("mlp/" + name))
    return norm(n + fed, weights("ln_2/g"), weights("ln_2/b"))


def hidden_states(arrays, token_ids, shares=None):
    """Return [N, T, D] for ids [N, T].

    A list `shares` receives the attention [T, T] of each row, layer and head.
    """
    arrays = {k: np.asarray(v, np.float64) for k, v in arrays.items()}
    first_position = len(arrays["we"]) - NUM_POSITIONS
    result = []
    for row in np.asarray(token_ids):
        x = arrays["we"][row] + arrays["we"][first_position:][: len(row)]
        for layer in range(NUM_LAYERS):
            x = block(
                x, lambda name: arrays[f"h{layer}/{name}"], NUM_HEADS, shares
            )
        result.append(x)
    return np.stack(result)


def language_model_losses(hidden, rows, token_ids, token_weights):
    """Return per sequence the weighted mean loss [N] of `hidden` [N, T, D].

    `rows` [R, D] are those over which the softmax runs; `token_weights`
    [N, T] say how much the prediction of each token counts.
    """
    losses = []
    for h, ids, weights in zip(hidden, token_ids, token_weights):
        log_p = special.log_softmax(h[:-1] @ np.asarray(rows, "f8").T, axis=-1)
        nll = [-log_p[t, token] for t, token in enumerate(ids[1:])]
        losses.append(np.sum(nll * weights[1:]) / np.sum(weights[1:]))
    return np.array(losses)
