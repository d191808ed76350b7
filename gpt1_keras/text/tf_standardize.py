"""`text.standardize` as a TensorFlow graph.

The standardisation is exact. Of ftfy the graph has what a regular expression
can say: line ends, straight quotes, control characters, the commonest HTML
entities, ligatures and wide forms. It does not mend broken encodings or join
accents to their letters.
"""

import functools
import unicodedata

import tensorflow as tf

NEWLINE = "\x01"  # stands for a line break between two spaces

_REPAIRS = (
    ("\x1b\\[[0-9;]*[a-zA-Z]", ""),  # codes that colour a terminal
    ("\r\n|\r|\u2028|\u2029|\u0085", "\n"),
    (
        "[\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{7f}\\x{206a}-\\x{206f}\\x{feff}"
        "\\x{fff9}-\\x{fffc}]",
        "",
    ),
    ("[\u02bc\u2018-\u201b]", "'"),
    ("[\u201c-\u201f]", '"'),
)
_ENTITIES = (
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    ("&(?:apos|#39|#x27);", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
)
_STANDARD = (
    ("[\u2013\u2014\u2015]", "-"),
    ("\u2026", "..."),
    ("\u00b4", "'"),
    (
        r"(-+|~+|!+|\"+|;+|\?+|\++|,+|\)+|\(+|/+|\*+|\[+|\]+|\}+|\{+|\|+|_+)",
        r" \1 ",
    ),
)
# What Python calls white space and RE2 does not, but for line breaks.
_SPACE = (
    "[\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{202f}\\x{205f}\\x{3000}\\x{c}]"
)
_LIGATURES = "\u0132\u0133\u0149\u01f1\u01f2\u01f3\u01c4\u01c5\u01c6" + "".join(
    map(chr, range(0xFB00, 0xFB07))
)
_WIDE = "".join(map(chr, range(0xFF01, 0xFFEF)))


class Standardize(tf.Module):
    """Maps raw text to standardised text.

    Call arguments:
        texts: string `[N]`, any bytes; what is not UTF-8 becomes U+FFFD.

    Returns:
        string `[N]`: words and `NEWLINE` with spaces between them.
    """

    def __init__(self):
        super().__init__()
        simple = _simple_forms()
        self._simple = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                list(simple), list(simple.values())
            ),
            "",
        )

    def __call__(self, texts):
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        texts = _replace(texts, _REPAIRS)
        # ftfy leaves entities alone where a text has tags.
        texts = tf.where(
            tf.strings.regex_full_match(texts, "(?s).*<.*"),
            texts,
            _replace(texts, _ENTITIES),
        )
        texts = self._with_simple_forms(texts)
        texts = _replace(texts, _STANDARD)
        texts = tf.strings.regex_replace(texts, _SPACE, " ")
        texts = tf.strings.strip(texts)
        return tf.strings.regex_replace(texts, r"\s*\n\s*", f" {NEWLINE} ")

    def _with_simple_forms(self, texts):
        """Replace ligatures and wide forms, where there are any."""

        def replaced():
            # [N] -> [N, (characters)]
            characters = tf.strings.unicode_split(texts, "UTF-8")
            found = self._simple.lookup(characters.values)
            found = tf.where(found == "", characters.values, found)
            return tf.strings.reduce_join(
                characters.with_values(found), axis=-1
            )

        # All of them are three bytes from 0xEF, or two from 0xC4 to 0xC7.
        has_any = tf.strings.regex_full_match(
            texts, f"(?s).*[{_LIGATURES}{_WIDE}].*"
        )
        return tf.cond(tf.reduce_any(has_any), replaced, lambda: texts)


@functools.cache
def _simple_forms():
    """Return dict from a character to the text that ftfy puts for it."""
    return {
        character: unicodedata.normalize("NFKC", character)
        for character in _LIGATURES + _WIDE
        if unicodedata.normalize("NFKC", character) != character
    }


def _replace(texts, pairs):
    for pattern, replacement in pairs:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    return texts
