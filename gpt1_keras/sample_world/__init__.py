"""A small world of our own: stories that happen in it, questions about it.

Who lives there and what happens is drawn from a seed; the books tell of it,
and the labels of the sample benchmarks follow from it.

## Tree

```
sample_world/
  corpus.py                 writes the books, a chapter for each story
  world.py stories.py       people and their facts; what happens to them
  sentences.py tables.py    templates to English; reads the tables
  benchmarks.py             writes the sample files of all benchmarks
  sentence_examples.py      CoLA, SST-2
  pair_examples.py          entailment, answers to questions, similarity
  story_examples.py         RACE, Story Cloze, LAMBADA, Winograd schemas
  benchmark_files.py        labelled examples in the official formats
  generated_folder.py       whole or absent, never written twice
  draws.py                  choices that are equal on every Python
  words.txt sentences.txt   the vocabulary and the sentences
  events.txt plots.txt      kinds of events and the plots made of them
```
"""
