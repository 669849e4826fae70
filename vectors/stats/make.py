"""Makes scipy.json: inputs and the figures that SciPy gives for them. Needs scipy, diptest and
statsmodels from PyPI. Run: python make.py > scipy.json"""
import json
import sys

import diptest
import numpy as np
import scipy
from diptest.consts import Consts
from scipy import stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20261121)


def walsh(x):
    i, j = np.triu_indices(len(x))
    return np.sort((np.asarray(x)[i] + np.asarray(x)[j]) / 2)


def interval(x, error):
    """The exact signed-rank interval: Walsh averages at the quantile of the null distribution."""
    n, w = len(x), walsh(x)
    signs = np.array([1.0])
    for rank in range(1, n + 1):
        shifted = np.concatenate([np.zeros(rank), signs])
        signs = (np.concatenate([signs, np.zeros(rank)]) + shifted) / 2
    cumulative = np.cumsum(signs)
    rank = int(np.sum(2 * cumulative <= error + 1e-15))
    return {"error": error, "rank": rank,
            "low": w[rank - 1] if rank else None, "high": w[-rank] if rank else None}


def paired(n, shift, ties):
    x = rng.normal(shift, 1, n)
    if ties:
        x = np.round(x, 0 if n < 10 else 1)
        x[x == 0] = 1.0
    # With ties SciPy's exact p-value is the one over all sign flips.
    method = stats.PermutationMethod(n_resamples=10**7) if ties else "exact"
    return {"values": list(x), "wilcoxon_p": stats.wilcoxon(x, method=method).pvalue,
            "hodges_lehmann": float(np.median(walsh(x))),
            "intervals": [interval(x, e) for e in (0.5, 0.1, 0.05, 0.05 / 9, 0.05 / 100)]}


def two(n, m, shift, ties):
    a, b = rng.normal(shift, 1, n), rng.normal(0, 1, m)
    if ties:
        a, b = np.round(a, 1), np.round(b, 1)
    method = "asymptotic" if ties else "exact"
    return {"a": list(a), "b": list(b), "p": stats.mannwhitneyu(a, b, method=method).pvalue}


def boot(n):
    x = rng.lognormal(8, 0.1, n)
    r = stats.bootstrap((x,), np.median, n_resamples=200000, method="percentile", random_state=rng)
    return {"values": list(x), "median": float(np.median(x)), "q90": float(np.quantile(x, 0.9)),
            "low": r.confidence_interval.low, "high": r.confidence_interval.high}

def dips(n, heaps, ties=False):
    x = np.concatenate([rng.normal(5 * h, 1, n // heaps) for h in range(heaps)])
    if ties:
        x = np.round(x, 1)
    return {"values": list(x), "dip": diptest.dipstat(x)}


def quantile(n, share):
    row, column = list(Consts._SAMPLE_SIZE).index(n), list(Consts._ALPHA).index(share)
    return float(Consts._CRIT_VALS[row][column])


def shifted(n, shift):
    """One-sided tests at the bounds of a margin: equivalence is the larger of the two."""
    x, bound = rng.normal(shift, 0.3, n), 0.5
    below = stats.wilcoxon(x - bound, alternative="less", method="exact").pvalue
    above = stats.wilcoxon(x + bound, alternative="greater", method="exact").pvalue
    return {"values": list(x), "bound": bound, "below": below, "above": above, "within": max(below, above)}


def table(a, of_a, b, of_b):
    return {"a": a, "of_a": of_a, "b": b, "of_b": of_b,
            "p": stats.fisher_exact([[a, of_a - a], [b, of_b - b]]).pvalue}


def share(k, n):
    r = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    return {"successes": k, "trials": n, "low": r.low, "high": r.high, "cdf": stats.binom.cdf(k, n, 0.05)}


p = list(rng.uniform(0, 0.1, 9))
json.dump({
    "scipy": scipy.__version__,
    "paired": [paired(n, s, t) for n, s, t in
               [(5, 0, 0), (6, 2, 0), (8, 0.5, 0), (10, 1, 0), (14, 0.3, 0), (30, 0.2, 0), (8, 1, 1), (12, 0.4, 1)]],
    "two_samples": [two(*c) for c in [(5, 5, 1, 0), (8, 12, 0.5, 0), (20, 7, 0, 0), (15, 15, 0.5, 1), (9, 30, 1, 1)]],
    "bootstrap": [boot(n) for n in (7, 12, 25)],
    "holm": {"p": p, "adjusted": list(multipletests(p, method="holm")[1])},
    "normal": [{"x": x, "cdf": stats.norm.cdf(x)} for x in (-8, -4.5, -3.1, -2.9, -1, -0.01, 0, 0.5, 1.96, 2.99, 3.01, 5)],
    "quantiles": [{"p": q, "x": stats.norm.ppf(q)} for q in (1e-9, 0.0005, 0.0028, 0.025, 0.3, 0.5, 0.975, 0.9999)],
    "dips": [dips(*c) for c in [(6, 1), (9, 1), (14, 2), (30, 2), (60, 3), (200, 1), (201, 3), (40, 2, True), (25, 1, True)]],
    # From the package's table of a million draws for each n.
    "dip_quantiles": [{"n": n, "share": share, "dip": quantile(n, share)}
                      for n in (6, 10, 20, 50, 200) for share in (0.95, 0.99)],
    "equivalence": [shifted(*c) for c in [(6, 0), (9, 0.1), (14, 0.4), (20, -0.3), (12, 1)]],
    "fisher": [table(*c) for c in [(3, 10, 0, 12), (9, 20, 1, 20), (0, 14, 0, 14), (5, 9, 5, 9), (7, 30, 1, 12)]],
    "binomial": [share(*c) for c in [(0, 20), (1, 20), (16, 200), (10, 200), (500, 10000), (20, 20)]],
}, sys.stdout, indent=1)
