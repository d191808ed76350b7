"""Texts that go on in several ways, for a language model to compare."""

import typing


class Continuation(typing.NamedTuple):
    """One way to go on.

    Attributes:
        ids: list of ids that follow the prefix.
        num_context: int. So many of the first of them are only read, not
            scored.
    """

    ids: list
    num_context: int = 0


class Item(typing.NamedTuple):
    """A prefix and its continuations.

    Attributes:
        prefix: list of ids, at least one: the first token of a text has
            nothing before it that could predict it.
        continuations: tuple of `Continuation`.
        num_cut: int, tokens before the prefix that had no room.
    """

    prefix: list
    continuations: tuple
    num_cut: int = 0


class Scores(typing.NamedTuple):
    """What a language model says of an `Item`; arrays `[C]`.

    Attributes:
        log_probability: float64, the sum over the scored tokens.
        num_tokens: int, how many were scored.
        is_likeliest: bool, whether every scored token was the likeliest.
    """

    log_probability: typing.Any
    num_tokens: typing.Any
    is_likeliest: typing.Any
