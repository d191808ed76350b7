import ftfy
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import standardize
from tests.reference import released_tokenizer

# What ftfy repairs, what looks like it, and what stands next to both.
PIECES = [
    *"abzAZ09 '\".,-&;<>\n\r\t\f\v\x1b\x1c\x85\xa0[m31",
    *"‘’“”‚„‛‟–—―…´éèêàâäÂÃÐÎåœŒ£€°§½ñüÜÓ×÷ÿßø√≈вЂ‚Äâó",
    *"\u3000\u2028\u200b\ufeff\ufb01\u0301\ud800ＡＢ·«»™®©¡¿²³\x7f\x80",
    *("&eacute;", "&amp;", "&lt;", "â€™", "Ã©", "\r\n", "\x1b[31m"),
    *(" à ", "Â "),
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@settings(max_examples=700)
@given(texts | st.text())
@example("<b>\n&amp;")
@example("&amp;\n<b> &amp;\n&lt;")
@example("a\r\n\rb\r")
@example("‚≈à¿\nb")  # the repair takes the line break with it
@example("schÃ¶n\n“plain” line\nâœ” end\n")
@example("é " * 500_001 + "<& &amp; “x”\n&amp;")  # beyond ftfy's segments
def test_repair_is_ftfy(text):
    assert standardize.repair(text) == ftfy.fix_text(text)


def test_repair_is_ftfy_for_every_letter_between_ascii():
    ascii_ = [chr(c) for c in range(32, 127)] + ["", "\n", "\t"]
    for letter in map(chr, range(0xC0, 0x100)):
        for before in ascii_[::8]:
            text = "\n".join(f"x{before}{letter}{after}y" for after in ascii_)
            assert standardize.repair(text) == ftfy.fix_text(text)


@settings(max_examples=300)
@given(texts | st.text('ab \\+-~…!;?+,)(/*[]}{|_"\n\t.:'))
@example("a\\b a+b so--he wait… one \n\n\t two")
def test_standardize_is_the_released_rule(text):
    expected = released_tokenizer.standardize(text)
    assert standardize.standardize(text) == expected
