"""Generator of the sample corpus and the sample benchmarks.

A seed determines a small fictional world: its people and what happens to
them. The books tell these stories, and the labels of the sample benchmarks
follow from them.

```
sample_world/
  corpus.py                 writes the books, a chapter for each story
  world.py stories.py       people and facts about them; events and plots
  sentences.py tables.py    templates rendered as English; the tables
  benchmarks.py             writes the sample files of all benchmarks
  sentence_examples.py      CoLA, SST-2
  pair_examples.py          entailment, answers to questions, similarity
  story_examples.py         RACE, Story Cloze, LAMBADA, Winograd schemas
  benchmark_files.py        labelled examples in the official formats
  generated_folder.py       a folder written once, whole or not at all
  draws.py                  random choices, equal on every Python
  words.txt sentences.txt   the vocabulary and the sentences
  events.txt plots.txt      kinds of events, and plots made of them
```
"""
