import pytest

from gpt1_keras import errors
from gpt1_keras.data.sample_world import generated_folder


def write_once(directory, write, **settings):
    return generated_folder.write_once(
        directory,
        write,
        settings=settings,
        manifest="manifest.json",
        kind="sample of poems",
        listed="poems",
    )


def write_poem(folder):
    (folder / "poem.txt").write_text("Roses are red.\n")
    return ["poem.txt"]


def refuse(folder):
    raise AssertionError("nothing must be written")


def test_the_same_settings_write_once(tmp_path):
    folder = tmp_path / "parent" / "poems"
    assert write_once(folder, write_poem, seed=1) == ["poem.txt"]
    assert write_once(folder, refuse, seed=1) == ["poem.txt"]
    assert (folder / "poem.txt").read_text() == "Roses are red.\n"
    with pytest.raises(errors.InputError, match=r"another .* \(seed 1, perh"):
        write_once(folder, refuse, seed=2)


def test_an_empty_folder_is_taken(tmp_path):
    assert write_once(tmp_path, write_poem) == ["poem.txt"]


def test_foreign_files_and_lost_files_are_refused(tmp_path):
    (tmp_path / "diary").write_text("Dear diary")
    with pytest.raises(errors.InputError, match="not a sample of poems"):
        write_once(tmp_path, refuse)
    with pytest.raises(errors.InputError, match="is a file"):
        write_once(tmp_path / "diary", refuse)
    folder = tmp_path / "poems"
    write_once(folder, write_poem)
    (folder / "poem.txt").unlink()
    with pytest.raises(errors.InputError, match="remove it"):
        write_once(folder, refuse)


def test_who_comes_second_takes_what_the_first_wrote(tmp_path):
    folder = tmp_path / "poems"

    def write_meanwhile(temporary):
        write_once(folder, write_poem, seed=1)
        return write_poem(temporary)

    assert write_once(folder, write_meanwhile, seed=1) == ["poem.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["poems"]


def test_a_failure_leaves_nothing(tmp_path):
    def fail(folder):
        write_poem(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_once(tmp_path / "poems", fail)
    assert list(tmp_path.iterdir()) == []
