"""The statistics behind the rules by their textbook formulas, with the standard library only.

Where the last bit of a double can decide a verdict, the order of the operations is that of numpy,
scipy and scikit-learn; elsewhere (the tail of chi-square, mutual information) it is the formula's.
"""

from __future__ import annotations

import math
from collections import Counter


def add_up(values: list) -> float:
    """numpy.sum of doubles: eight partial sums, and halves of what is longer than 128."""
    n = len(values)
    if n > 128:
        half = n // 2 - n // 2 % 8
        return add_up(values[:half]) + add_up(values[half:])
    total, rest = 0.0, values
    if n >= 8:
        r = [float(v) for v in values[:8]]
        whole = n - n % 8
        for i in range(8, whole):
            r[i % 8] += values[i]
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
        rest = values[whole:]
    for value in rest:
        total += value
    return total


def auroc(positive: list[float], negative: list[float]) -> float:
    """The area under the ROC curve, by trapezoids between its corners."""
    scores = positive + negative
    if not positive or not negative or not all(map(math.isfinite, scores)):
        raise ValueError("no ROC curve")
    points = [(sum(s >= t for s in negative), sum(s >= t for s in positive)) for t in sorted(set(scores), reverse=True)]
    points = [(0, 0)] + [p for i, p in enumerate(points) if i in (0, len(points) - 1) or not straight(*points[i - 1 : i + 2])]
    curve = [(x / len(negative), y / len(positive)) for x, y in points]
    return add_up([(x1 - x0) * (y1 + y0) / 2.0 for (x0, y0), (x1, y1) in zip(curve, curve[1:])])


def straight(a: tuple, b: tuple, c: tuple) -> bool:
    """Whether two steps in a row are the same."""
    return (b[0] - a[0], b[1] - a[1]) == (c[0] - b[0], c[1] - b[1])


def chi_square(table: list[list[float]]) -> tuple[float, float, int]:
    """Statistic, p and degrees of freedom of the test of independence, with Yates' correction of 2x2."""
    columns = list(zip(*table))
    if any(cell < 0 for row in table for cell in row):
        raise ValueError("negative")
    whole = add_up([cell for row in table for cell in row])
    across = [add_up(list(row)) for row in table]
    down = [sum(column[1:], start=column[0]) for column in columns]
    expected = [[a * d / whole if whole else math.nan for d in down] for a in across]
    if any(cell == 0 for row in expected for cell in row):
        raise ValueError("nothing expected")
    freedom = (len(across) - 1) * (len(down) - 1)
    if freedom == 0:
        return 0.0, 1.0, 0
    if freedom == 1:
        table = [[o + (0.5 if abs(e - o) > 0.5 else abs(e - o)) * sign(e - o) for o, e in zip(*rows)] for rows in zip(table, expected)]
    statistic = add_up([(o - e) * (o - e) / e for rows in zip(table, expected) for o, e in zip(*rows)])
    return statistic, tail(statistic, freedom), freedom


def sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def tail(statistic: float, freedom: int) -> float:
    """P(X > statistic) of chi-square: a finite sum, as the degrees of freedom are whole."""
    x = statistic / 2
    if math.isnan(x) or x == 0:
        return 1.0 - x
    if math.isinf(x):
        return 0.0
    powers = [i + freedom % 2 / 2 for i in range(freedom // 2)]
    terms = [math.exp(k * math.log(x) - x - math.lgamma(k + 1)) for k in powers]
    return math.fsum(terms) + (math.erfc(math.sqrt(x)) if freedom % 2 else 0.0)


def adjusted_mutual_information(pairs: Counter) -> float:
    """Of two labellings, given as how often each pair of labels occurs: arithmetic mean as the normaliser."""
    n = sum(pairs.values())
    left, right = Counter(), Counter()
    for (a, b), count in pairs.items():
        left[a] += count
        right[b] += count
    if len(left) == len(right) == 1:
        return 1.0
    if len(left) == len(right) == n:  # by rounding alone it would be 0.0 or 1.0
        return 0.0
    if len(left) == 1 or len(right) == 1:
        return 0.0
    mutual = math.fsum(count / n * math.log(n * count / (left[a] * right[b])) for (a, b), count in pairs.items())
    expected = math.fsum(expected_term(n, a, b) for a in left.values() for b in right.values())
    normaliser = (entropy(left, n) + entropy(right, n)) / 2
    return (max(mutual, 0.0) - expected) / (normaliser - expected)


def entropy(counts: Counter, n: int) -> float:
    return -math.fsum(c / n * math.log(c / n) for c in counts.values())


def expected_term(n: int, a: int, b: int) -> float:
    """What two labels that occur a and b times add to the mutual information if they meet by chance."""
    chance = [math.comb(a, k) * math.comb(n - a, b - k) / math.comb(n, b) for k in range(max(1, a + b - n), min(a, b) + 1)]
    return math.fsum(p * k / n * math.log(n * k / (a * b)) for k, p in enumerate(chance, start=max(1, a + b - n)))
