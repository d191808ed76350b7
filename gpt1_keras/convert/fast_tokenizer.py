"""This package's tokenizer, imitated with the `tokenizers` library.

transformers loads it from `tokenizer.json`; its own OpenAI GPT tokenizer splits
contractions, quotes and line breaks differently. In place of spaCy, regular
expressions that match between two characters insert spaces where it would
split. Texts that ftfy repairs, and rare special cases, still get other ids.
"""

import collections
import itertools
import json
import re

import tokenizers

from gpt1_keras.text import standardize
from gpt1_keras.text import subwords
from gpt1_keras.text import words

# Special tokens of a classifier: role in transformers -> name, in order of ids.
SPECIAL = {
    "bos_token": "<start>",
    "sep_token": "<delimiter>",
    "cls_token": "<extract>",
    "pad_token": "<pad>",
}
_UNKNOWN = subwords.BytePair.unknown
# spaCy's special cases covered here: words, times and abbreviations.
_CASE = re.compile(r"[A-Za-z0-9'.]+")
_END = r"(?=[\s.':]|$)"  # of a special case
_LAST = r"(?=\s|$)"  # of a piece of text


def build(tokenizer, *, is_pair=None):
    """Return a `tokenizers.Tokenizer` with the ids of a byte-pair `Tokenizer`.

    For a classifier of texts (`is_pair=False`) or pairs (True), it also pads
    and adds start, delimiter and extract tokens (figure 1 of the paper).
    """
    normalizers = tokenizers.normalizers

    def replace(expression, content):
        return normalizers.Replace(tokenizers.Regex(expression), content)

    def gaps(expressions):
        return replace("|".join(expressions), " ")

    found = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab=tokenizer.ids,
            merges=tokenizer.merges,
            unk_token=_UNKNOWN,
            end_of_word_suffix=subwords.END_OF_WORD,
        )
    )
    affixes = gaps(_affixes())
    found.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Strip(),
            normalizers.Prepend(" "),
            replace(r"\r\n?", "\n"),
            *itertools.starmap(
                replace, standardize.STRAIGHT + standardize.REPLACED
            ),
            replace(r"\s*\n\s*", " \n "),
            gaps(_marks()),
            gaps(_inside()),
            # Affixes one after another, then the special case inside.
            *[affixes] * 3,
            gaps(_special_cases()),
            affixes,
            normalizers.Lowercase(),
        ]
    )
    found.pre_tokenizer = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(r"\n|\S+"), "removed", invert=True
    )
    found.decoder = tokenizers.decoders.BPEDecoder(suffix=subwords.END_OF_WORD)
    if is_pair is not None:
        start, delimiter, extract, padding = names = list(SPECIAL.values())
        found.add_special_tokens(names)
        ids = {name: found.token_to_id(name) for name in names}
        found.enable_padding(pad_id=ids[padding], pad_token=padding)
        found.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{start} $A {extract}",
            pair=f"{start} $A {delimiter} $B {extract}" if is_pair else None,
            special_tokens=list(ids.items()),
        )
    return found


def contents(found, max_length, special):
    """Return `{name: content}` of the files that AutoTokenizer reads.

    `max_length` is the network's; `special` is {role: token}, as `SPECIAL`.
    """
    special = {"unk_token": _UNKNOWN} | special
    settings = special | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        # Not token_type_ids, whose embeddings the network would add.
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # "<pad>" in a text is plain text.
    }
    return {
        "tokenizer.json": found.to_str(),
        "tokenizer_config.json": json.dumps(settings, indent=2),
        "special_tokens_map.json": json.dumps(special, indent=2),
    }


def _marks():
    """Match around runs of marks, and between marks that spaCy separates."""
    marks = f"{standardize.MARKS}`"
    single = [m for m in marks if len(words.split_words(m + m)) == 2]
    one = "".join(map(re.escape, single))
    runs = [re.escape(m) for m in standardize.MARKS if m not in single]
    around_runs = [rf"(?<!{m})(?={m})|(?<={m})(?!{m})" for m in runs]
    return [rf"(?=[{one}])|(?<=[{one}])", *around_runs]


def _inside():
    """Match where spaCy splits inside a piece, and after its first mark."""
    opened = "|".join(
        re.escape(case[1:])
        for case, parts in _cases().items()
        if len(parts) == 1 and re.fullmatch(r"'[A-Za-z]+", case)
    )
    return [
        r"(?<!\.)(?=\.\.)|(?<=\.\.)(?!\.)",
        rf"(?<=\s')(?!(?:{opened}){_END})(?=[^\s'])",
        r"(?<=\s[$£€¥#&%=<>:]|\s[A-Z]{2}\$|\s[AC]\$)(?=\S)",
        r"(?<=[a-z])(?=\.[A-Z])|(?<=[a-z]\.)(?=[A-Z])",
        r"(?<=[A-Za-z])(?=[:<>=][A-Za-z])|(?<=[A-Za-z][:<>=])(?=[A-Za-z])",
    ]


def _affixes():
    """Match before the affixes that spaCy splits off a piece's end."""
    from spacy.lang import char_classes

    cases = _cases().items()
    whole = [case for case, parts in cases if len(parts) == 1]
    dotted = [case for case, parts in cases if re.search(r".\.$", parts[-1])]
    dots = "|".join(rf"\s{re.escape(case[:-1])}" for case in dotted)
    quotes = "|".join(
        rf"\s{re.escape(c[:-1])}" for c in whole if c[-1] == "'" and len(c) > 2
    )
    lower = r"[a-z0-9%\u00df-\u00f6\u00f8-\u017f)\]'\"\-+]"
    return [
        rf"(?<!\s|'|{quotes})(?=''?{_LAST})",
        rf"(?<=\S)(?='[sS]{_LAST})",
        rf"(?<={lower}|[A-Z][A-Z])(?<!{dots})(?=\.{_LAST})",
        rf"(?<=\S)(?=[:#&<>]{_LAST})",
        rf"(?<=[0-9])(?=[$£€¥+]{_LAST})|(?<=°)(?=\S)|(?<=\S)(?=°)",
        rf"(?<=°[FfCcKk])(?=\.{_LAST})",
        rf"(?<=[0-9])(?=(?:{char_classes.UNITS}){_LAST})",
    ]


def _special_cases():
    """Match where spaCy splits its special cases ("do|n't", "can|not")."""
    before = collections.defaultdict(list)  # by what follows
    for parts in _cases().values():
        for i in range(1, len(parts)):
            before["".join(parts[i:])].append("".join(parts[:i]))
    for after, starts in before.items():
        look = "|".join(rf"[\s']{re.escape(start)}" for start in starts)
        yield rf"(?={re.escape(after)}{_END})(?<={look})"


def _cases():
    """Return the special cases covered here, each with its words."""
    from spacy.symbols import ORTH

    return {
        case: [part[ORTH] for part in parts]
        for case, parts in words.english().rules.items()
        if _CASE.fullmatch(case)
    }
