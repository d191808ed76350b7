import json
import pathlib

import tensorflow as tf

from gpt1_keras.serving import tf_replay
from gpt1_keras.text import tf_tokenizer
from gpt1_keras.text import tokenizer
from tests.reference import processes


def replay(saved_model, *program):
    given = '{"text": ["a", "bc"]}\n{"text": []}\n'
    return processes.python("-I", *program, saved_model, given=given)


def test_what_a_server_lacks_cannot_be_imported(tmp_path):
    source = pathlib.Path(tf_replay.__file__).read_text("utf-8")
    code = source.replace(
        "import tensorflow as tf", "import keras; import tensorflow as tf"
    )
    done = replay(tmp_path / "none", "-c", code)
    assert done.returncode == 1
    assert "import of keras halted" in done.stderr


WORD_PIECES = tokenizer.Tokenizer(
    ["[UNK]", "[NEWLINE]", "a", "b", "##b", "##a", "bc"]
)


class Encode(tf.Module):
    def __init__(self):
        self.tokenizer = tf_tokenizer.GraphTokenizer(WORD_PIECES)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def run(self, text):
        return {"ids": self.tokenizer(text).to_tensor(-1)}


def test_word_pieces_without_their_package(tmp_path):
    """The package itself would import Keras, which is forbidden."""
    module = Encode()
    tf.saved_model.save(module, tmp_path / "1", signatures=module.run)
    done = replay(tmp_path / "1", tf_replay.__file__)
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout.splitlines()[0])
    assert first == {"ids": WORD_PIECES.encode_batch(["a", "bc"])}
