"""Templates: text with alternatives, slots, words and verbs, compiled once.

[one|two|]        one of the alternatives, each as likely as the others
{a} {a:his}       a role of the telling, in a form (see `language.Teller`)
{a.food}          an attribute of what fills the role
{@flower}         a word of the list `flower` in words.txt
<mend>            a verb in the telling's tense, agreeing with the last
                  subject; <it:mend> <they:mend> <a:mend> name the subject
<&mend>           second verb after "and": without the auxiliary
"""

import functools
import re

from gpt1_keras.data.sample_world import grammar

_TOKEN = re.compile(r"[\[\]|]|\{[^{}]*\}|<[^<>]*>|[^\[\]|{}<>]+")


@functools.cache
def parse(text):
    """Return `text` as a tuple of parts: str, or callables of a teller."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError(f"stray brace in template: {text}")
    parts, end = _sequence(tokens, 0, ())
    if end != len(tokens):
        raise ValueError(f"stray {tokens[end]} in template: {text}")
    return parts


def render(parts, teller):
    """Return the text of compiled `parts` as told by `teller`."""
    return "".join(
        [part if part.__class__ is str else part(teller) for part in parts]
    )


def _sequence(tokens, start, stops):
    parts = []
    while start < len(tokens) and tokens[start] not in stops:
        token = tokens[start]
        start += 1
        if token == "[":
            part, start = _alternatives(tokens, start)
        elif token in "]|":
            raise ValueError(f"stray {token} in template: {''.join(tokens)}")
        elif token[0] == "{":
            part = _slot(token[1:-1])
        elif token[0] == "<":
            part = _verb(token[1:-1])
        else:
            part = token
        parts.append(part)
    return tuple(parts), start


def _alternatives(tokens, start):
    choices = []
    while True:
        choice, start = _sequence(tokens, start, ("|", "]"))
        if start == len(tokens):
            raise ValueError(f"missing ] in template: {''.join(tokens)}")
        choices.append(choice)
        start += 1
        if tokens[start - 1] == "]":
            break
    choices = tuple(choices)
    return lambda teller: render(teller.draws.pick(choices), teller), start


def _slot(text):
    if text.startswith("@"):
        name = text[1:]
        if name.endswith("+"):
            return lambda teller: grammar.plural(teller.word(name[:-1]))
        return lambda teller: teller.word(name)
    name, _, form = text.partition(":")
    role, _, attribute = name.partition(".")
    if attribute:
        return lambda teller: teller.attribute(role, attribute)
    return lambda teller: teller.slot(role, form)


def _verb(text):
    subject, _, verb = text.rpartition(":")
    second = verb.startswith("&")
    always_past = verb.endswith("!")
    verb = verb.removeprefix("&").removesuffix("!")
    return lambda teller: teller.verb(verb, subject, second, always_past)
