from gpt1_keras.data.sample_world import statements


def test_questions_about_facts_carry_a_true_and_a_false_answer(book, teller):
    teller.plain = True
    for person in book.world.people[::4]:
        for fact in book.world.facts(person):
            question = statements.fact_question(teller, book.world, fact)
            text, answer, statement = (
                teller.clause(part, question.roles, question.tense)
                for part in (question.text, question.answer, question.statement)
            )
            assert person.first in f"{text} {answer} {person.trade}" or (
                fact.relation == "trade"
            )
            value = fact.value
            value = value if isinstance(value, str) else value.first
            assert value in f"{statement} {answer} {text}"
            if question.wrong:
                assert question.wrong != answer
                value = getattr(fact.value, "full", fact.value)
                assert value in answer and value != question.wrong


def test_fact_clauses_agree_with_the_tense(book, teller):
    person = book.world.people[0]
    fact = next(f for f in book.world.facts(person) if f.relation == "food")
    past = {statements.fact_clause(teller, fact, "past") for _ in range(20)}
    now = {statements.fact_clause(teller, fact, "present") for _ in range(20)}
    assert not past & now
    assert all(person.food in clause for clause in past | now)


def test_questions_about_events(book, teller):
    for event in book.memory[::7]:
        question = statements.event_question(teller, event)
        assert question.about is event and question.tense == "past"
        assert (question.text, question.answer) in event.kind.questions
