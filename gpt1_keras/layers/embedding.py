"""Embedding of tokens and positions, and the output projection tied to it.

`GPT1Backbone(embedding_dropout_on=...)` chooses one of the two `EMBEDDINGS`,
which differ in what dropout is applied to.
"""

import keras
from keras import ops

from gpt1_keras.layers import configured


@keras.saving.register_keras_serializable(package="gpt1_keras")
class TokenAndPositionEmbedding(configured.ConfiguredLayer):
    """Sum of token and position embedding, with dropout on the sum.

    This is the usual reading of the paper's "embedding dropouts": each
    activation is masked on its own, and the softmax sees the undropped table.

    Letters: `B` batch, `T` positions, `D` hidden_dim, `V` vocabulary_size,
    `S` num_special_tokens, `P` max_sequence_length. The arguments are those of
    `GPT1Backbone`, whose `embedding_dropout` is `dropout` here.

    Call arguments:
        token_ids: int tensor `[B, T]`, ids below `V + S`.
        position_ids: int tensor `[B, T]` or `[1, T]`, the position of each
            token, or None to count from 0.

    Returns:
        `hidden` `[B, T, D]` and the tables as this forward pass used them,
        `table` `[V + S, D]` and `positions` `[P, D]`. The output softmax takes
        `table`; in `TableDropoutEmbedding`, it therefore shares the dropout.
    """

    def __init__(
        self,
        *,
        vocabulary_size,
        num_special_tokens,
        max_sequence_length,
        hidden_dim,
        dropout,
        initializer_range,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep(locals())

    def build(self, input_shape):
        self.token_embeddings = self._table(
            "token_embeddings", self.vocabulary_size
        )
        self.special_embeddings = None
        if self.num_special_tokens:
            self.special_embeddings = self._table(
                "special_embeddings", self.num_special_tokens
            )
        self.position_embeddings = self._table(
            "position_embeddings", self.max_sequence_length
        )
        self._build_dropout()

    def _table(self, name, rows):
        return self.add_weight(
            name=name,
            shape=(rows, self.hidden_dim),
            initializer=self._normal(),
            autocast=False,
        )

    def _build_dropout(self):
        self.hidden_dropout = self._dropout(self.dropout, "hidden_dropout")

    def tables(self, training=False):
        """Return `table` `[V + S, D]` and `positions` `[P, D]`.

        Both have the dtype of the weights, in which the gradients of all
        look-ups of a row are summed: bfloat16 is too inaccurate for thousands.
        """
        table = ops.convert_to_tensor(self.token_embeddings)
        if self.special_embeddings is not None:
            # [V, D], [S, D] -> [V + S, D]
            table = ops.concatenate([table, self.special_embeddings], axis=0)
        return table, ops.convert_to_tensor(self.position_embeddings)

    def call(self, token_ids, position_ids=None, training=False):
        table, positions = self.tables(training=training)
        if training or self.special_embeddings is None:
            # [V + S, D] at [B, T] -> [B, T, D]
            tokens = ops.take(table, token_ids, axis=0)
        else:
            tokens = self._look_up(token_ids)
        if position_ids is None:
            # [P, D] -> [T, D]
            rows = positions[: ops.shape(token_ids)[1]]
        else:
            # [P, D] at [B, T] -> [B, T, D]
            rows = ops.take(positions, position_ids, axis=0)
        hidden, table, positions = (
            ops.cast(x, self.compute_dtype)
            for x in (tokens + rows, table, positions)
        )
        if self.hidden_dropout is not None:
            hidden = self.hidden_dropout(hidden, training=training)
        return hidden, table, positions

    def _look_up(self, token_ids):
        """Return the rows `[B, T, D]` of ids without joining both tables.

        Joining them would take a tenth of the time of a request for one text.
        """
        first = self.vocabulary_size  # the first special token
        # [V, D] at [B, T] -> [B, T, D]
        words = ops.minimum(token_ids, first - 1)
        words = ops.take(self.token_embeddings, words, axis=0)
        # [S, D] at [B, T] -> [B, T, D]
        special = ops.maximum(token_ids - first, 0)
        special = ops.take(self.special_embeddings, special, axis=0)
        is_special = ops.expand_dims(token_ids >= first, -1)
        return ops.where(is_special, special, words)

    def compute_output_spec(self, token_ids, position_ids=None, training=False):
        rows = self.vocabulary_size + self.num_special_tokens
        tables = [(rows,), (self.max_sequence_length,)]
        return tuple(
            keras.KerasTensor((*shape, self.hidden_dim), self.compute_dtype)
            for shape in (token_ids.shape, *tables)
        )


@keras.saving.register_keras_serializable(package="gpt1_keras")
class TableDropoutEmbedding(TokenAndPositionEmbedding):
    """Embedding with dropout on its tables, as in the released code.

    One mask per forward pass covers a whole table before the look-up: all
    occurrences of a token share it, and so does the output softmax over the
    same table (finetune-transformer-lm train.py, lines 164-175). The
    micro-batches of a training step share it, too (`Learner`).
    """

    def _build_dropout(self):
        rate, dtype = self.dropout, self.variable_dtype
        self.hidden_dropout = None
        self.table_dropout = self._dropout(rate, "table_dropout", dtype)
        self.position_dropout = self._dropout(rate, "position_dropout", dtype)

    def tables(self, training=False):
        table, positions = super().tables()
        return (
            self.table_dropout(table, training=training),
            self.position_dropout(positions, training=training),
        )


EMBEDDINGS = {
    "tables": TableDropoutEmbedding,
    "activations": TokenAndPositionEmbedding,
}


@keras.saving.register_keras_serializable(package="gpt1_keras")
class TiedLogits(configured.ConfiguredLayer):
    """Logits of the vocabulary, `hidden x table^T`, without special tokens.

    The table is an input, not a weight: dropout on the embedding tables must
    reach the look-up and the logits with the same mask. Called with `hidden`
    `[B, T, D]` and `table` `[V + S, D]`, the layer returns float32 `[B, T, V]`,
    where `V` is `vocabulary_size`.
    """

    def __init__(self, *, vocabulary_size, **kwargs):
        super().__init__(**kwargs)
        self.keep(locals())

    def call(self, hidden, table):
        # [V + S, D] -> [V, D] -> [D, V]
        table = ops.transpose(table[: self.vocabulary_size])
        # [B, T, D] x [D, V] -> [B, T, V]
        logits = ops.matmul(ops.cast(hidden, self.compute_dtype), table)
        return ops.cast(logits, "float32")
