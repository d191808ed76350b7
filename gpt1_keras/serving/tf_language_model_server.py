"""What a language model answers in TensorFlow Serving."""

import tensorflow as tf

from gpt1_keras.serving import tf_checks
from gpt1_keras.serving import tf_weights


class LanguageModelServer(tf.Module):
    """A language model with its tokenizer, to be saved as SavedModel.

    Letters: `B` batch, `T` positions, `V` words of the vocabulary.

    Args:
        network: `GPT1CausalLM`.
        tokenizer: `tf_tokenizer.GraphTokenizer`.
        opening_id: int. What stands before the first token of a text.
        max_sequence_length: int.
        dtype: str, dtype the weights are stored in.

    Signatures:
        score: string `text` `[B]` -> `log_probability` float32 `[B]` (natural
            logarithm, summed over the tokens), `num_tokens` int32 `[B]` and
            `is_cut` bool `[B]`, whether the end of the text was left out.
            Also the default.
        tokens: `token_ids` int32 `[B, T]` -> `logits` float32 `[B, T, V]`.
            Ids and positions that there are not are an
            `InvalidArgumentError`.
    """

    texts = ("text",)

    def __init__(
        self,
        network,
        tokenizer,
        *,
        opening_id,
        max_sequence_length,
        dtype="float32",
    ):
        super().__init__()
        self._network = tf_weights.FrozenNetwork(network, dtype)
        self._check_ids = lambda ids: tf_checks.check_ids(ids, network)
        self._tokenizer = tokenizer
        self._opening_id = opening_id
        self._max_sequence_length = max_sequence_length

    def signatures(self):
        """Return dict from a signature's name to its concrete function."""
        score = tf.function(self.answer).get_concrete_function(
            text=tf.TensorSpec([None], tf.string, name="text")
        )
        tokens = tf.function(self.tokens).get_concrete_function(
            token_ids=tf.TensorSpec([None, None], tf.int32, name="token_ids")
        )
        return {"serving_default": score, "score": score, "tokens": tokens}

    def answer(self, text):
        """`score`."""
        ids, lengths, is_cut = self.ids(text)
        # [B, T - 1] are read, each predicts the next one.
        logits = self.tokens(ids[:, :-1])["logits"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            ids[:, 1:], tf.cast(logits, tf.float32)
        )
        is_there = tf.sequence_mask(lengths, tf.shape(losses)[1])
        log_probability = -tf.reduce_sum(tf.where(is_there, losses, 0.0), 1)
        return {
            "log_probability": log_probability,
            "num_tokens": lengths,
            "is_cut": is_cut,
        }

    def tokens(self, token_ids):
        """`tokens`."""
        token_ids = self._check_ids(token_ids)
        found = self._network(
            {
                "token_ids": token_ids,
                "padding_mask": tf.ones_like(token_ids),
            }
        )
        return {"logits": found}

    def ids(self, text):
        """Return ids `[B, T]` after the opening, lengths, what is cut."""
        limit = self._max_sequence_length
        ids = self._tokenizer(text, limit=limit + 1)
        is_cut = ids.row_lengths() > limit
        ids = ids[:, :limit]
        opening = tf.fill([ids.nrows(), 1], self._opening_id)
        padded = tf.concat([opening, ids], axis=1).to_tensor(0)
        return padded, tf.cast(ids.row_lengths(), tf.int32), is_cut
