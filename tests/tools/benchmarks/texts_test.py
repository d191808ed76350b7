from tools.benchmarks import texts


def test_paragraphs_and_sentences():
    paragraphs = texts.paragraphs(5000)
    words = sum(len(paragraph.split()) for paragraph in paragraphs)
    assert 5000 <= words < 20000
    assert all(p == p.strip() and p for p in paragraphs)
    sentences = texts.sentences(50)
    assert len(sentences) == len(set(sentences)) == 50
    assert all(s.endswith(".") and len(s.split()) >= 3 for s in sentences)
