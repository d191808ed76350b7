from hypothesis import given
from hypothesis import strategies

from gpt1_keras.data.sample_world import draws
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import population

PEOPLE = population.build_world(0, 0).people[:6]


@given(
    strategies.lists(
        strategies.one_of(
            strategies.integers(0, 5), strategies.just("sentence")
        ),
        max_size=12,
    ),
    strategies.integers(0, 5),
)
def test_a_pronoun_means_the_one_person_named_lately(steps, asked):
    discourse = language.Discourse()
    sentences = [[]]
    for step in steps:
        if step == "sentence":
            discourse.next_sentence()
            sentences.append([])
        else:
            discourse.mention(PEOPLE[step])
            sentences[-1].append(PEOPLE[step])
    near = {id(p): p for lately in sentences[-2:] for p in lately}.values()
    person = PEOPLE[asked]
    same = [p for p in near if p.gender == person.gender]
    assert discourse.means(person) == (same == [person])


def person(gender, trade=""):
    return next(
        p
        for p in population.build_world(0, 0).people
        if p.gender == gender and bool(p.trade) == bool(trade)
    )


def test_forms_of_a_person(teller):
    anna = person("f", "any")
    roles = {"a": anna}
    assert teller.clause("{a:full}", roles) == anna.full
    assert teller.clause("{a:the}", roles) == f"the {anna.trade}"
    assert teller.clause("{a:he} {a:him} {a:his} {a:himself}", roles) == (
        "she her her herself"
    )
    teller.speaker = anna
    assert teller.clause("{a} <be> {a:o} {a:p} {a:full}", roles) == (
        "I was me my I"
    )
    assert teller.clause("{a} <go>", roles, "present") == "I go"
    teller.speaker, teller.hearer = None, anna
    assert teller.clause("{a} <be> {a:o} {a:p}", roles) == "you were you your"


def test_same_gender_is_never_a_pronoun_by_choice(teller):
    first, second = [p for p in PEOPLE if p.gender == "m"][:2]
    for _ in range(100):
        teller.discourse.clear()
        text = teller.clause("{a} saw {b:o}, and {a} left {b:o}",
                             {"a": first, "b": second})  # fmt: skip
        assert not {"he", "him"} & set(text.replace(",", "").split())


def test_plain_voice_uses_names_only():
    plain = language.Teller(draws.Draws(0), plain=True)
    anna = person("f", "any")
    for _ in range(50):
        assert plain.clause("{a} and {a}", {"a": anna}) == (
            f"{anna.first} and {anna.first}"
        )


def test_a_bag_gives_all_items_before_one_returns(teller):
    items = tuple("abcdef")
    for _ in range(3):
        assert sorted(teller.from_bag("k", items) for _ in items) == [*items]


def test_places(teller):
    place = population.build_world(0, 0).towns[0].places["mill"]
    text = teller.clause("{p}; {p:the}; {p:to}", {"p": place})
    assert text == f"by {place.noun}; {place.noun}; to {place.noun}"


def test_no_word_comes_twice_running(teller):
    for _ in range(300):
        first, second = teller.clause("{@few}/{@few}", {}).split("/")
        assert first != second
