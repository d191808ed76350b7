"""What is suspicious in a file of examples, each as one line of warning.

Rows are those of `labelled_rows`. Two rows are the same where text, second
text and choices are.
"""

import collections

_RARE = 0.1  # of the largest class
_FEW = 100  # rows, of which each is a percent


def imbalance(path, rows):
    """Warn of a class with under 10 % of the rows of the largest one.

    Returns:
        list of str, empty or one line.
    """
    counts = collections.Counter(row.example.label for row in rows)
    ranked = counts.most_common()
    (_, most), (smallest, fewest) = ranked[0], ranked[-1]
    if fewest >= _RARE * most:
        return []
    line = next(row.line for row in rows if row.example.label == smallest)
    return [
        f"{path}: classes are far from equal:"
        f" {', '.join(f'{word!r} {count}' for word, count in ranked)} rows"
        f" (line {line} is the first of {smallest!r}); accuracy will say little"
    ]


def few_to_score(path, rows):
    """Warn of a dev split so small that its scores are mostly chance.

    Returns:
        list of str, empty or one line.
    """
    if len(rows) >= _FEW:
        return []
    return [
        f"{path}: only {len(rows)} rows are for dev, so one row is"
        f" {100 / len(rows):.1f} % of accuracy: the best epoch is found, and"
        " models compared, much by chance"
    ]


def repetitions(path, rows):
    """Warn of rows that repeat an earlier one, with the same label or not.

    Returns:
        list of str, at most one line for repetitions and one for
        contradictions.
    """
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row.example)].append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    contradicting = [
        group
        for group in repeated
        if len({row.example.label for row in group} - {None}) > 1
    ]
    warnings = []
    if repeated:
        count = sum(len(group) - 1 for group in repeated)
        first, second = repeated[0][:2]
        warnings.append(
            f"{path}: repeated texts: {len(repeated)}, in {count} of"
            f" {len(rows)} rows (line {second.line} repeats line {first.line})"
        )
    if contradicting:
        group = [r for r in contradicting[0] if r.example.label is not None]
        first = group[0]
        other = next(r for r in group if r.example.label != first.example.label)
        warnings.append(
            f"{path}: repeated texts whose labels contradict each other:"
            f" {len(contradicting)} (line {first.line}"
            f" {first.example.label!r}, line {other.line}"
            f" {other.example.label!r})"
        )
    return warnings


def overlap(train_path, train_rows, path, rows):
    """Warn of rows of a dev or test file whose text is in the train file.

    Returns:
        list of str, empty or one line.
    """
    lines = {key(row.example): row.line for row in reversed(train_rows)}
    shared = [row for row in rows if key(row.example) in lines]
    if not shared:
        return []
    line, first = shared[0].line, lines[key(shared[0].example)]
    return [
        f"{path}: rows that are in {train_path} too: {len(shared)} of"
        f" {len(rows)} (line {line} is its line {first}); they flatter scores"
    ]


def key(example):
    """Return what makes two examples the same."""
    return example.text, example.text_pair, example.choices
