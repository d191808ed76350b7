import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.data import split
from gpt1_keras.errors import InputError

NAMES = [f"book {i}" for i in range(100)]


def test_choice_depends_on_seed_and_names_only():
    chosen = split.choose(NAMES, fraction=0.03, seed=1)
    assert len(chosen) == 3 and set(chosen) < set(NAMES)
    assert split.choose(NAMES[::-1], fraction=0.03, seed=1) == chosen
    assert split.choose(NAMES, fraction=0.03, seed=2) != chosen
    assert split.choose(NAMES, fraction=0.1, seed=1)[:3] == chosen
    assert len(split.choose(NAMES, fraction=0.026, seed=1)) == 3  # rounded
    # The smallest sha256 of "0:...", in every version.
    assert split.choose(NAMES, fraction=0.01, seed=0) == ["book 74"]


@given(st.integers(0, 50), st.floats(0, 0.999))
def test_sizes(count, fraction):
    chosen = split.choose(NAMES[:count], fraction=fraction, seed=0)
    assert len(chosen) == len(set(chosen))
    if count < 2 or fraction == 0:
        assert chosen == []
    else:
        assert 1 <= len(chosen) <= count - 1
        assert abs(len(chosen) - fraction * count) <= 1


def random_ids(seed, n):
    return np.random.default_rng(seed).integers(0, 40_000, n)


def overlaps(texts, chosen, *, block=700, limit=0.05):
    def read(name):
        for start in range(0, len(texts[name]), block):
            yield texts[name][start : start + block]

    return split.overlaps(chosen, list(texts), read, limit=limit)


def shared(ids, other):
    """Share of 12-token sequences of `ids` in `other`, slowly."""

    def sequences(x):
        return {tuple(x[i : i + 12]) for i in range(len(x) - 11)}

    mine = sequences(ids.tolist())
    return len(mine & sequences(other.tolist())) / len(mine)


def test_overlap_is_the_share_of_common_sequences():
    new, train = random_ids(0, 5000), random_ids(1, 9000)
    train[4000:4150] = new[1000:1150]
    expected = {"new": pytest.approx(shared(new, train), abs=1e-9)}
    assert 0.02 < shared(new, train) < 0.05
    texts = {"new": new, "train": train}
    assert overlaps(texts, ["new"]) == (expected, {})
    for block in (5, 100):
        assert overlaps(texts, ["new"], block=block) == (expected, {})


def test_books_with_overlap_go_back_and_count_as_training():
    novel = random_ids(0, 3000)
    collection = np.concatenate([random_ids(1, 2500), novel, random_ids(2, 40)])
    texts = {"novel": novel, "collection": collection}
    texts["new"] = random_ids(3, 3000)
    chosen = ["novel", "new"]
    assert overlaps(texts, chosen) == ({"new": 0.0}, {"novel": 1.0})
    assert overlaps(texts, chosen, limit=1.0) == ({"novel": 1, "new": 0}, {})
    second = np.concatenate([novel[:1500], random_ids(4, 1500)])
    # A copy of the half that the second does not have.
    texts = {"first": novel, "second": second, "copy": novel[1500:]}
    texts["new"] = random_ids(5, 2000)
    kept, moved = overlaps(texts, ["first", "second", "new"])
    assert kept == {"new": 0.0} and set(moved) == {"first", "second"}

    # One book stays held out; a short one has no sequence.
    same = random_ids(0, 1000)
    kept, moved = overlaps({"a": same, "b": same, "c": same[100:]}, ["a", "c"])
    assert len(kept) == 1 and len(moved) == 1 and list(kept.values()) == [1.0]
    short = {"a": np.arange(3), "b": np.arange(20)}
    assert overlaps(short, ["a"]) == ({"a": 0.0}, {})
    assert overlaps({"a": np.arange(3)}, []) == ({}, {})


def test_names_from_a_file(tmp_path):
    path = tmp_path / "names"
    path.write_text("one.txt\n\n b/two.txt \n", encoding="utf-8-sig")
    assert split.read_names(path) == ("one.txt", "b/two.txt")
    path.write_text("\n")
    with pytest.raises(InputError, match="names is empty: write the path"):
        split.read_names(path)
    with pytest.raises(ValueError, match="all books: name fewer"):
        split.find(NAMES, NAMES)
