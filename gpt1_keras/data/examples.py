"""One row of a benchmark, whatever file it came from."""

import dataclasses
import hashlib


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """Text with a label.

    Attributes:
        text: sentence, premise, first sentence, document or story.
        text_pair: hypothesis, second sentence or question; "" without one.
        choices: tuple of str, the answers to choose from; () elsewhere.
        label: what is to be predicted: a word of the task's labels, the index
            of the right choice, or a score; None where it is not known.
        group: part of the benchmark that is also reported on its own, such
            as "middle" or "mismatched"; "" without parts.
    """

    text: str
    text_pair: str = ""
    choices: tuple = ()
    label: str | int | float | None = None
    group: str = ""


def sha256(examples):
    """Return a digest of a list of `Example`, in their order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()
