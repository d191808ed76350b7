from gpt1_keras.sample_world import draws


def test_equal_on_every_python():
    made = draws.Draws("book", 0, 1)
    assert [made.below(100) for _ in range(5)] == [79, 78, 28, 32, 6]


def test_choices():
    made = draws.Draws("test")
    assert sorted(made.shuffled(range(9))) == list(range(9))
    assert len(set(made.sample(range(9), 4))) == 4
    assert sorted(made.sample(range(3), 7)) == [0, 1, 2]
    assert {made.pick("ab") for _ in range(50)} == {"a", "b"}
