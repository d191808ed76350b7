import pytest

from gpt1_keras import errors
from gpt1_keras.sample_world import generated_folder


def write_once(folder, write, **settings):
    return generated_folder.write_once(
        folder, write, settings=settings, manifest="manifest.json"
    )


def write_poem(folder):
    (folder / "poem.txt").write_text("Roses are red.\n")
    return ["poem.txt"]


def refuse(folder):
    raise OSError("disk full")


def test_the_same_settings_write_once(tmp_path):
    folder = tmp_path / "parent" / "poems"
    assert write_once(folder, write_poem, seed=1) == [folder / "poem.txt"]
    assert write_once(folder, refuse, seed=1) == [folder / "poem.txt"]
    with pytest.raises(errors.InputError, match="holds other files"):
        write_once(folder, refuse, seed=2)
    (folder / "poem.txt").unlink()
    (folder / "diary").write_text("Dear diary")
    with pytest.raises(errors.InputError, match="remove it"):
        write_once(folder, write_poem, seed=1)
    assert (folder / "diary").exists() and not (folder / "poem.txt").exists()


def test_who_comes_second_takes_what_the_first_wrote(tmp_path):
    folder = tmp_path / "poems"

    def write_meanwhile(temporary):
        write_once(folder, write_poem)
        return write_poem(temporary)

    assert write_once(folder, write_meanwhile) == [folder / "poem.txt"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="disk full"):
        write_once(tmp_path / "poems", refuse)
    assert list(tmp_path.iterdir()) == []
