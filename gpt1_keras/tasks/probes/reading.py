"""RACE: the answer that is likeliest after document and question."""

from gpt1_keras.data import continuations
from gpt1_keras.data.readers import race
from gpt1_keras.tasks.probes import choice
from gpt1_keras.tasks.probes import fitting


class Reading(choice.ChoiceProbe):
    """The answer with the highest mean log-probability of its tokens.

    Document and question are joined without a delimiter, as for fine-tuning.
    The paper does not say what is done with long documents. Here question and
    answers are kept and the beginning of the document is cut, so that what is
    nearest to the question stays, and for all answers alike.
    """

    name = "race"
    random = 0.25

    def read(self, data_dir, split):
        """See `race.read`."""
        return race.read(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """One continuation for each answer; all share document and question.

        An answer of `max_sequence_length` tokens or more loses its end.
        """
        answers = [
            fitting.encode(text, tokenizer)[: max_sequence_length - 1]
            for text in example.choices
        ]
        return fitting.fit(
            tokenizer.encode(example.text)
            + tokenizer.encode(example.text_pair),
            [continuations.Continuation(ids) for ids in answers],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )
