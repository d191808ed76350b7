"""Values that people give to dials, checked in one line."""

from gpt1_keras import errors


def check_count(dial, value, *, or_none=None):
    """Refuse a value that is not a whole number from 1 on.

    Args:
        dial: str, its name in gin.
        value: any value; a person gave it.
        or_none: str, what None means where it is allowed, such as "for all".

    Raises:
        InputError: says what to give.
    """
    if value is None and or_none is not None:
        return
    if type(value) is not int or value < 1:
        more = "" if or_none is None else f", or None {or_none}"
        raise errors.InputError(
            f"{dial} is {value!r}: give a whole number from 1 on{more}"
        )


def check_counts(dial, values):
    """Refuse what is not a tuple or list, perhaps empty, of such numbers.

    Args:
        dial: str, its name in gin.
        values: any value; a person gave it.

    Raises:
        InputError: says what to give.
    """
    if not isinstance(values, tuple | list) or not all(
        type(value) is int and value > 0 for value in values
    ):
        raise errors.InputError(
            f"{dial} is {values!r}: give whole numbers in brackets, such as "
            "(64, 128)"
        )
