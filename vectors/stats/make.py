"""Makes scipy.json: inputs and the figures that SciPy gives for them. Run: python make.py > scipy.json"""
import json
import sys

import numpy as np
import scipy
from scipy import stats

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


def holm(p):
    """SciPy has Benjamini-Hochberg alone; this is Holm's definition, written out."""
    order, adjusted, least = np.argsort(p), [0.0] * len(p), 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, float(p[index]) * (len(p) - place)))
        adjusted[index] = least
    return adjusted


p = list(rng.uniform(0, 0.1, 9))
json.dump({
    "scipy": scipy.__version__,
    "paired": [paired(n, s, t) for n, s, t in
               [(5, 0, 0), (6, 2, 0), (8, 0.5, 0), (10, 1, 0), (14, 0.3, 0), (30, 0.2, 0), (8, 1, 1), (12, 0.4, 1)]],
    "two_samples": [two(*c) for c in [(5, 5, 1, 0), (8, 12, 0.5, 0), (20, 7, 0, 0), (15, 15, 0.5, 1), (9, 30, 1, 1)]],
    "bootstrap": [boot(n) for n in (7, 12, 25)],
    "holm": {"p": p, "adjusted": holm(p)},
    "normal": [{"x": x, "cdf": stats.norm.cdf(x)} for x in (-8, -4.5, -3.1, -2.9, -1, -0.01, 0, 0.5, 1.96, 2.99, 3.01, 5)],
    "quantiles": [{"p": q, "x": stats.norm.ppf(q)} for q in (1e-9, 0.0005, 0.0028, 0.025, 0.3, 0.5, 0.975, 0.9999)],
}, sys.stdout, indent=1)
