"""A small world of our own: stories that happen in it, questions about it.

Who lives there and what happens is drawn from a seed; a book tells of it, and
the labels of the sample benchmarks follow from it.

## Tree

```
sample_world/
  corpus.py books.py        writes the books; a book of chapters
  chapters.py plots.py      a story told scene by scene; what happens in it
  world.py population.py    who lives where, what is true of them
  names.py                  invented names
  events.py statements.py   what can happen; facts as statements and questions
  narration.py dialogue.py  the narrator; people who talk
  voices.py language.py     direct speech; who is called what, in which tense
  grammar.py templates.py   English forms; text with alternatives and slots
  library.py draws.py       reads the word lists; choices equal on every Python
  benchmarks.py             sample files of all benchmarks
  benchmark_files.py probe_files.py    labelled examples in the official formats
  situations.py             stories, events, people and facts to draw them from
  labelled_sentences.py     CoLA, SST-2
  labelled_entailments.py   SNLI, MultiNLI, RTE
  labelled_facts.py         SciTail, QNLI
  labelled_similarities.py  MRPC, QQP, STS-B
  labelled_passages.py labelled_stories.py    RACE; Story Cloze
  labelled_pronouns.py      WNLI, pronoun resolution, Winograd schemas
  labelled_last_words.py    LAMBADA
  generated_folder.py       whole or absent, never written twice
  words.txt sentences.txt   the vocabulary and the sentences
  events.txt plots.txt      the events and the plots
  benchmarks.txt            sentences of the benchmarks
```
"""
