"""Items of a language model that fit into its positions."""

from gpt1_keras.data import continuations


def encode(text, tokenizer):
    """Return the ids of a text, never none of them."""
    return tokenizer.encode(text) or [opening(tokenizer)]


def opening(tokenizer):
    """Return the id that stands before a text where nothing else does.

    The language model has no start token. A line break is what it has seen
    before the first word of a paragraph; a vocabulary without one has a full
    stop.
    """
    if tokenizer.newline_id is not None:
        return tokenizer.newline_id
    return tokenizer.encode(".")[0]


def fit(prefix, continuations_, *, tokenizer, max_sequence_length):
    """Return the Item with what is nearest to the continuations.

    | prefix  | longest continuation | max_sequence_length | becomes |
    |---------|----------------------|---------------------|---------|
    | 1 2 3 4 | 5 6                  | 6                   | 1 2 3 4 |
    | 1 2 3 4 | 5 6                  | 4                   | 3 4     |
    |         | 5 6                  | 4                   | opening |

    Args:
        prefix: list of ids, perhaps empty; its beginning is cut.
        continuations_: list of Continuation, each shorter than
            `max_sequence_length`.
        tokenizer: Tokenizer.
        max_sequence_length: int, positions.

    Raises:
        ValueError: a continuation leaves no room for a prefix.
    """
    room = max_sequence_length - max(len(c.ids) for c in continuations_)
    if room < 1:
        raise ValueError(
            f"a continuation of {max_sequence_length - room} tokens leaves no"
            f" room for a prefix in {max_sequence_length} positions"
        )
    return continuations.Item(
        list(prefix)[-room:] or [opening(tokenizer)],
        tuple(continuations_),
        num_cut=max(0, len(prefix) - room),
    )
