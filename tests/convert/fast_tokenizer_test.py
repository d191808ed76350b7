import pytest

from gpt1_keras.convert import fast_tokenizer
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import small_models

# Each has places where spaCy cuts, and others where it does not.
TEXTS = """\
I can't; you won't, he'd've, cannot, gonna and 'tis: don't.
Mr. Smith's dog (Rex) isn't Mrs. Jones's... is it?!
"Goin' home," said O'Neill -- at 8am, the 3rd of Dec. 1984.
the boys' toys cost $3.50, 5km off. U.S. troops, e.g. a.m. and p.m.
He said ``yes'' -- 'no' -- \u201cperhaps\u201d and left\u2026
and/or w/o [x] {y} <z> a_b #tag & 100% @me ''quoted'' it.
end.Start a:b x=y 20\u00b0C. the garden.'
At 9a.m. (or 10p.m.) it was \u00a35, not 5\u20ac, in a cafe\u0301.""".splitlines()


@pytest.mark.parametrize("text", [*TEXTS, "\n".join(TEXTS), "", "\n a \n"])
def test_ids_of_the_program(text):
    tokenizer = small_models.byte_pairs()
    fast = fast_tokenizer.build(tokenizer)
    assert fast.encode(text).ids == list(tokenizer.encode(text))


@pytest.mark.needs_data
def test_ids_of_the_released_code(released_files, golden_cases):
    fast = fast_tokenizer.build(
        tokenizer_lib.Tokenizer.from_files(*released_files)
    )
    found = [fast.encode(case["text"]).ids for case in golden_cases]
    equal = [ids == case["ids"] for ids, case in zip(found, golden_cases)]
    # Broken characters, which ftfy repairs, and emoticons.
    assert len(equal) == 172 and equal.count(False) == 2
