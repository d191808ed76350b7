"""Rows that cannot be read, and a limit on how many there may be."""

from absl import logging

from gpt1_keras import errors

# More unreadable rows than this share of a file, and than one, stop the run.
TOLERATED_SHARE = 0.01
_NUM_REPORTED = 5


class BadRow(Exception):
    """A row that cannot be read; the message is the reason, in a few words."""


class BadRows:
    """Reports unreadable rows and stops the run when there are many.

    The first few are reported with their place, the rest by their number.

    Args:
        source: path of the file or folder the rows come from.
        remedy: str. What is done with such a row.
    """

    def __init__(self, source, remedy="left out"):
        self._source = source
        self._remedy = remedy
        self._first = None
        self._count = 0

    def add(self, place, reason):
        """Count a row; `place` is where it stands: "data.tsv line 3"."""
        self._first = self._first or f"{place}: {reason}"
        self._count += 1
        if self._count <= _NUM_REPORTED:
            logging.warning("%s: %s; %s", place, reason, self._remedy)

    def check(self, total):
        """Compare with the number of all rows, good and bad.

        Raises:
            InputError: there is no row, no good row, or more than
                `TOLERATED_SHARE` of all rows and more than one are bad.
        """
        if total == 0:
            raise errors.InputError(
                f"{self._source} has no rows: take the official file"
            )
        tolerated = min(max(1, int(TOLERATED_SHARE * total)), total - 1)
        if self._count > tolerated:
            raise errors.InputError(
                f"{self._first}; {self._count} of {total} rows cannot be read:"
                " take the official file"
            )
        if self._count > _NUM_REPORTED:
            logging.warning(
                "%s: %d of %d rows cannot be read; %s",
                *(self._source, self._count, total, self._remedy),
            )
