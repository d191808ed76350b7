"""A preparation slow enough to be killed: python slow_prepare.py IN OUT."""

import sys
import time

from tests.reference import letter_tokenizer


class SlowTokenizer(letter_tokenizer.LetterTokenizer):
    """The same ids, a tenth of a second later."""

    def encode(self, text):
        time.sleep(0.1)
        return super().encode(text)


if __name__ == "__main__":
    from gpt1_keras.data import corpus  # not needed by the workers

    corpus.prepare(
        [sys.argv[1]],
        SlowTokenizer(),
        sys.argv[2],
        held_out_fraction=0.1,
        seed=0,
        num_processes=2,
        shard_tokens=1000,
        piece_bytes=1000,
    )
