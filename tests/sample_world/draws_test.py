from gpt1_keras.sample_world import draws


def test_equal_on_every_python():
    made = draws.Draws("book", 0, 1)
    assert [made.below(100) for _ in range(5)] == [79, 78, 28, 32, 6]
