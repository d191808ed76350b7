"""All zero-shot probes by name."""

from gpt1_keras import errors
from gpt1_keras.data.readers import pronouns as pronoun_reader
from gpt1_keras.tasks import names as task_names
from gpt1_keras.tasks.probes import acceptability
from gpt1_keras.tasks.probes import last_word
from gpt1_keras.tasks.probes import pronouns
from gpt1_keras.tasks.probes import reading
from gpt1_keras.tasks.probes import sentiment


def _dprd():
    return pronouns.Pronouns("dprd", pronoun_reader.read_dprd, random=0.5)


def _wsc():
    return pronouns.Pronouns("wsc", pronoun_reader.read_wsc, random=0.5)


def _pdp():
    # The mean of 1 / number of candidates over its 60 problems: 45 have two
    # candidates, 12 three, one four and two five.
    return pronouns.Pronouns("pdp", pronoun_reader.read_pdp, random=0.4525)


# The paper's four, then others in their official files.
_PROBES = {
    "cola": acceptability.Acceptability,
    "sst2": sentiment.Sentiment,
    "race": reading.Reading,
    "dprd": _dprd,
    "wsc": _wsc,
    "pdp": _pdp,
    "lambada": last_word.LastWord,
}

NAMES = tuple(_PROBES)


def probe(name, label_words=None):
    """Return the `Probe` of that name, one of `NAMES`.

    Args:
        name: str.
        label_words: of SST-2, what `sentiment.Sentiment` takes; None: its own.

    Raises:
        InputError: there is none, says which name is nearest; or the words
            are wrong.
    """
    make = task_names.find(name, _PROBES, "probe")
    if label_words is None:
        return make()
    if name != "sst2":
        raise errors.InputError(
            f"LABEL_WORDS are for the probe 'sst2', not {name!r}: take "
            f"gin/zero_shot/{name}.gin"
        )
    return make(label_words)


def by_name(names):
    """Return the list of `Probe` of some names, perhaps none.

    Raises:
        InputError: there is none of that name, or no list of names.
    """
    task_names.check_list(
        names, dial="PROBES", example=("cola", "sst2"), may_be_empty=True
    )
    return [probe(name) for name in names]
