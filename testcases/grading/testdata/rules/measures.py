"""The statistics of the graders, by their textbook formulas, with the standard library only.

If the last bit of a double can decide a verdict, the operations have the order of numpy, scipy and
scikit-learn; otherwise (tail of chi-square, mutual information) that of the formula.
"""

from __future__ import annotations

import math
from collections import Counter


def pairwise_sum(values: list) -> float:
    """Returns numpy.sum of doubles to the last bit: adds in eight partial sums, and splits more than 128 values in halves."""
    n = len(values)
    if n > 128:
        half = n // 2 - n // 2 % 8
        return pairwise_sum(values[:half]) + pairwise_sum(values[half:])
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
    """Returns the area under the ROC curve, by trapezoids between its corners.

    Raises ValueError if a list is empty or a score is not finite.
    """
    scores = positive + negative
    if not positive or not negative or not all(map(math.isfinite, scores)):
        raise ValueError("no ROC curve")
    points = [(sum(s >= t for s in negative), sum(s >= t for s in positive)) for t in sorted(set(scores), reverse=True)]
    points = [(0, 0)] + [p for i, p in enumerate(points) if i in (0, len(points) - 1) or not is_midpoint(*points[i - 1 : i + 2])]
    curve = [(x / len(negative), y / len(positive)) for x, y in points]
    return pairwise_sum([(x1 - x0) * (y1 + y0) / 2.0 for (x0, y0), (x1, y1) in zip(curve, curve[1:])])


def is_midpoint(a: tuple, b: tuple, c: tuple) -> bool:
    """Returns whether b is the midpoint of a and c; scikit-learn drops such points of the curve."""
    return (b[0] - a[0], b[1] - a[1]) == (c[0] - b[0], c[1] - b[1])


def chi_square(table: list[list[float]]) -> tuple[float, float, int]:
    """Returns statistic, p and degrees of freedom of the chi-square test of independence.

    Applies Yates' correction if there is one degree of freedom. Raises ValueError if a
    cell is negative or an expected frequency is 0.
    """
    columns = list(zip(*table))
    if any(cell < 0 for row in table for cell in row):
        raise ValueError("a cell is negative")
    whole = pairwise_sum([cell for row in table for cell in row])
    row_sums = [pairwise_sum(list(row)) for row in table]
    column_sums = [sum(column[1:], start=column[0]) for column in columns]
    expected = [[a * d / whole if whole else math.nan for d in column_sums] for a in row_sums]
    if any(cell == 0 for row in expected for cell in row):
        raise ValueError("an expected frequency is 0")
    degrees_of_freedom = (len(row_sums) - 1) * (len(column_sums) - 1)
    if degrees_of_freedom == 0:
        return 0.0, 1.0, 0
    if degrees_of_freedom == 1:
        table = [[o + (0.5 if abs(e - o) > 0.5 else abs(e - o)) * sign(e - o) for o, e in zip(*rows)] for rows in zip(table, expected)]
    statistic = pairwise_sum([(o - e) * (o - e) / e for rows in zip(table, expected) for o, e in zip(*rows)])
    return statistic, chi_square_tail(statistic, degrees_of_freedom), degrees_of_freedom


def sign(x: float) -> float:
    """Returns -1.0, 0.0 or 1.0, or NaN for NaN."""
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def chi_square_tail(statistic: float, degrees_of_freedom: int) -> float:
    """Returns P(X > statistic) of the chi-square distribution: a finite sum, as the degrees of freedom are an integer."""
    x = statistic / 2
    if math.isnan(x) or x == 0:
        return 1.0 - x
    if math.isinf(x):
        return 0.0
    powers = [i + degrees_of_freedom % 2 / 2 for i in range(degrees_of_freedom // 2)]
    terms = [math.exp(k * math.log(x) - x - math.lgamma(k + 1)) for k in powers]
    return math.fsum(terms) + (math.erfc(math.sqrt(x)) if degrees_of_freedom % 2 else 0.0)


def adjusted_mutual_information(pairs: Counter) -> float:
    """Returns the adjusted mutual information of two labellings, normalized by the mean of their entropies.

    pairs has how often each pair of labels occurs.
    """
    n = sum(pairs.values())
    left, right = Counter(), Counter()
    for (a, b), count in pairs.items():
        left[a] += count
        right[b] += count
    if len(left) == len(right) == 1:
        return 1.0
    if len(left) == len(right) == n:  # the formula is 0/0 here, up to rounding errors
        return 0.0
    if len(left) == 1 or len(right) == 1:
        return 0.0
    mutual = math.fsum(count / n * math.log(n * count / (left[a] * right[b])) for (a, b), count in pairs.items())
    expected = math.fsum(expected_term(n, a, b) for a in left.values() for b in right.values())
    mean_entropy = (entropy(left, n) + entropy(right, n)) / 2
    return (max(mutual, 0.0) - expected) / (mean_entropy - expected)


def entropy(counts: Counter, n: int) -> float:
    """Returns the entropy in nats of n labels; counts has how often each occurs."""
    return -math.fsum(c / n * math.log(c / n) for c in counts.values())


def expected_term(n: int, a: int, b: int) -> float:
    """Returns what two independent labels that occur a and b times among n add to the expected mutual information."""
    probabilities = [math.comb(a, k) * math.comb(n - a, b - k) / math.comb(n, b) for k in range(max(1, a + b - n), min(a, b) + 1)]
    return math.fsum(p * k / n * math.log(n * k / (a * b)) for k, p in enumerate(probabilities, start=max(1, a + b - n)))
