import pytest

from gpt1_keras.data import books

PROSE = [
    "It was a bright cold day in the little town. The clocks were striking",
    "thirteen while the old man walked slowly down the street, without a hat.",
]


def text_of(block):
    return " ".join(map(str.strip, block))


def kept(*blocks):
    return list(books.without_front(blocks, text_of))


@pytest.mark.parametrize(
    "noise",
    [
        ["THE OLD MAN"],
        ["By John Doe"],
        ["Translated, With An Introduction, By Ernest Vizetelly"],
        ["                 DEDICATION", "              To my Mother"],
        [
            "Entered according to Act of Congress, in the year 1855, by John Doe,"
        ],
        ["First published in 1901. Printed in Great Britain by Smith and Son."],
        [
            "Produced by A. Volunteer and the Online Distributed Proofreading Team."
        ],
        [
            "Transcriber's note: obvious typos were corrected. "
            + "The rest was left. " * 9
        ],
        ["A novel. 3 vols. 16mo. $1.50 each."],
        ["CONTENTS"],
        ["LIST OF ILLUSTRATIONS"],
        ["     I. THE STREET" + " " * 40 + "1"],
        ["CHAPTER I. In which the old man loses his hat, and finds no other."],
        ["AN IMMENSE WOLF ENTERED THE ROOM      _Frontispiece_"],
    ],
)
def test_what_stands_before_the_text_goes(noise):
    assert kept(noise, PROSE) == [PROSE]


def test_dialogue_before_the_first_long_paragraph_stays():
    opening = [["“Tom!”"], ["No answer."], ["“Tom, come!”"], PROSE]
    assert kept(["TOM"], ["Preface."], *opening) == opening


def test_a_list_ends_with_the_next_prose():
    entries = [
        [f"{numeral}. A STREET   {i}"]
        for i, numeral in enumerate(["I", "II", "III"])
    ]
    later = ["CHAPTER I"]
    assert kept(PROSE, ["Contents."], *entries, PROSE, later, PROSE) == [
        PROSE,
        PROSE,
        later,
        PROSE,
    ]


def test_a_book_without_prose_is_left_alone():
    verse = [
        ["O rose, thou art sick!", "The invisible worm"],
        ["CONTENTS"],
        ["x"],
    ]
    assert kept(*verse) == verse


def test_only_the_head_is_searched():
    body = [PROSE] * 500
    tail = [["CONTENTS"], ["I. HERE   1"]]
    assert kept(*body, *tail) == body + tail


@pytest.mark.parametrize(
    ("block", "is_noise"),
    [
        (["       *       *       *       *"], True),
        (["-" * 60], True),
        (["[Illustration]"], True),
        (["[Illustration: The whale swallows", "the mariner]"], True),
        (["[Footnote 3: Watchword of the Princes.]"], True),
        (["[Illustration: half of it"], False),
        (["[companions] to see the stone laid.]"], False),
        (["He said: *"], False),
        (["1"], False),
    ],
)
def test_noise(block, is_noise):
    assert books.is_noise(block) == is_noise


def test_markers():
    start = "*** START OF THE PROJECT GUTENBERG EBOOK EMMA ***"
    end = "*** END OF THIS PROJECT GUTENBERG EBOOK EMMA ***"
    between = books.between_markers
    assert list(between(["a", start, "b", "c", end, "d"])) == ["b", "c"]
    assert list(between(["a", "b"])) == ["a", "b"]
    lines = [str(i) for i in range(2000)]
    assert list(between(lines)) == lines
    assert list(between([*lines, start, "x", end, "y"])) == [*lines, start, "x"]
