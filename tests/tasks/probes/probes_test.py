import pytest

from gpt1_keras import errors
from gpt1_keras.data.readers import winograd
from gpt1_keras.tasks import zero_shot


@pytest.mark.parametrize("name", zero_shot.NAMES)
def test_every_probe(name, tmp_path):
    found = zero_shot.probe(name)
    assert isinstance(found, zero_shot.Probe) and found.name == name
    assert 0 <= found.random <= 0.5
    assert found.needs_train == (name == "cola")
    with pytest.raises(errors.InputError, match="does not exist"):
        found.read(tmp_path, "dev" if name == "lambada" else "test")


@pytest.mark.parametrize(
    "name, remedy",
    [
        ("SST-2", "did you mean 'sst2'"),
        ("dpr", "did you mean 'dprd'"),
        ("wsc273", "did you mean 'wsc'"),
        ("mnli-mm-x", "take one of cola, sst2, race, dprd, wsc, pdp, lambada"),
        (None, "take one of"),
    ],
)
def test_unknown(name, remedy):
    with pytest.raises(errors.InputError, match=remedy):
        zero_shot.probe(name)


def test_label_words_of_sst2_only():
    words = (("bad", "dull"), ("good",))
    assert zero_shot.probe("sst2", words).label_words == words
    with pytest.raises(errors.InputError, match="sst2', not 'cola': take gin/"):
        zero_shot.probe("cola", words)


def test_by_name():
    found = zero_shot.by_name(["cola", "race"])
    assert [each.name for each in found] == ["cola", "race"]
    assert zero_shot.by_name(()) == []


@pytest.mark.parametrize(
    "names, expected",
    [
        ("cola", r"PROBES is 'cola': give a tuple: \('cola',\)$"),
        (("cola", "cola"), "PROBES is .*: give different names"),
        (("kola",), "did you mean 'cola'"),
        (None, "PROBES is None"),
    ],
)
def test_wrong_lists(names, expected):
    with pytest.raises(errors.InputError, match=expected):
        zero_shot.by_name(names)


@pytest.mark.needs_data
def test_guessing_among_the_candidates_of_pdp(shared_file):
    data = shared_file("data/winograd/PDP.txt").parent.parent
    rows = winograd.read_pdp(data, "test")
    expected = sum(1 / len(row.choices) for row in rows) / len(rows)
    assert zero_shot.probe("pdp").random == pytest.approx(expected)
