"""A preparation slow enough to be killed: python slow_prepare.py IN OUT."""

import functools
import sys
import time

from tests.reference import letter_tokenizer


class SlowTokenizer(letter_tokenizer.LetterTokenizer):
    """The same ids, a tenth of a second later."""

    def encode(self, text):
        time.sleep(0.1)
        return super().encode(text)


if __name__ == "__main__":
    # Not imported by the workers.
    from gpt1_keras.data import encode
    from gpt1_keras.data import prepare

    prepare.prepare(
        [sys.argv[1]],
        sys.argv[2],
        prepare.Recipe(SlowTokenizer(), held_out_fraction=0.1),
        shard_tokens=1000,
        piece_bytes=1000,
        encode_pieces=functools.partial(encode.encode_pieces, num_processes=2),
    )
