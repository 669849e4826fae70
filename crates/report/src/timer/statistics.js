// The statistics of `race`, ported from the crate study: Hodges-Lehmann ratios paired by block, intervals from the exact
// signed-rank distribution, a tie within the margin. vectors/timer/verdicts.json holds both to the same verdicts.
// Nothing here knows the page: rows go in, a comparison of B over A comes out.
var statistics = (function () {
  'use strict';
  var CONFIDENCE = 0.95;
  var EXACT_UP_TO = 120;
  var FEWEST_REFUSED = 3;
  var UNEQUAL = 0.05;
  var LONGEST_ANSWER = 100000;
  var POWER = 0.8;

  function ascending(a, b) { return a - b; }

  function median(values) {
    if (values.length === 0) { return null; }
    var sorted = values.slice().sort(ascending);
    var place = (sorted.length - 1) / 2;
    var low = sorted[Math.floor(place)], high = sorted[Math.ceil(place)];
    return low === high || low === -Infinity ? low : low + (high - low) * (place % 1);
  }

  // The standard normal distribution: a series near the middle, a continued fraction in the tails.
  function normalCdf(x) {
    function density(at) { return Math.exp(-0.5 * at * at) / Math.sqrt(2 * Math.PI); }
    function tail(at) {
      var fraction = at;
      for (var k = 150; k >= 1; k -= 1) { fraction = at + k / fraction; }
      return density(at) / fraction;
    }
    if (x < -3) { return tail(-x); }
    if (x > 3) { return 1 - tail(x); }
    var term = x, sum = x, odd = 1;
    while (Math.abs(term) > Math.abs(sum) * Number.EPSILON / 4) {
      odd += 2;
      term *= x * x / odd;
      sum += term;
    }
    return 0.5 + density(x) * sum;
  }

  function normalQuantile(chance) {
    if (chance <= 0) { return -Infinity; }
    if (chance >= 1) { return Infinity; }
    var low = -40, high = 40;
    for (var i = 0; i < 70; i += 1) {
      var middle = 0.5 * (low + high);
      if (normalCdf(middle) < chance) { low = middle; } else { high = middle; }
    }
    return 0.5 * (low + high);
  }

  // The distribution of the sum of positive ranks of n values.
  function signedRank(n) {
    var averages = n * (n + 1) / 2, cumulative = [];
    if (n <= EXACT_UP_TO) {
      cumulative = new Array(averages + 1).fill(0);
      cumulative[0] = 1;
      for (var rank = 1, reached = 0; rank <= n; rank += 1) {
        reached += rank;
        for (var sum = reached; sum >= 0; sum -= 1) {
          cumulative[sum] = 0.5 * (cumulative[sum] + (sum >= rank ? cumulative[sum - rank] : 0));
        }
      }
      for (var i = 1; i < cumulative.length; i += 1) { cumulative[i] += cumulative[i - 1]; }
    }
    function atMost(sum) {
      if (sum >= averages) { return 1; }
      if (cumulative.length > 0) { return cumulative[sum]; }
      var deviation = Math.sqrt(n * (n + 1) * (2 * n + 1) / 24);
      return normalCdf((sum + 0.5 - n * (n + 1) / 4) / deviation);
    }
    function error(rank) { return rank === 0 ? 0 : Math.min(2 * atMost(rank - 1), 1); }
    // The greatest rank whose error is at most `allowed`.
    function rankWithin(allowed) {
      var low = 0, high = Math.ceil(averages / 2);
      while (low < high) {
        var middle = Math.ceil((low + high) / 2);
        if (error(middle) <= allowed) { low = middle; } else { high = middle - 1; }
      }
      return low;
    }
    return { averages: averages, atMost: atMost, error: error, rankWithin: rankWithin };
  }

  // The means of all pairs of values, each with itself too. The mean of opposite infinities is undefined: it counts
  // against both ends of an interval.
  function walshAverages(values) {
    var distribution = signedRank(values.length), certain = [];
    values.forEach(function (first, i) {
      values.slice(i).forEach(function (second) { certain.push(0.5 * first + 0.5 * second); });
    });
    certain = certain.filter(function (mean) { return !isNaN(mean); }).sort(ascending);
    var unsure = distribution.averages - certain.length;
    function below(bound, strictly) {
      return certain.filter(function (mean) { return strictly ? mean < bound : mean <= bound; }).length;
    }
    function pBelow(bound) { return distribution.atMost(certain.length - below(bound, true) + unsure); }
    function pAbove(bound) { return distribution.atMost(below(bound, false) + unsure); }
    return {
      distribution: distribution,
      estimate: function () {
        var centre = median(certain.concat(new Array(unsure).fill(0)));
        return isNaN(centre) ? 0 : centre;
      },
      interval: function (rank) {
        var within = rank - 1 - unsure;
        var low = certain[within], high = certain[certain.length - 1 - within];
        var bounded = rank > 0 && within >= 0 && low !== undefined && high !== undefined && low <= high;
        return bounded ? [low, high] : [-Infinity, Infinity];
      },
      pDiffers: function () { return Math.min(2 * Math.min(pBelow(0), pAbove(0)), 1); },
      pWithin: function (bound) { return Math.max(pBelow(bound), pAbove(-bound)); }
    };
  }

  // The standard deviation of noise as wide as these values; null where it cannot be told.
  function spread(walsh, blocks) {
    var distribution = walsh.distribution, rank = distribution.rankWithin(0.32);
    var deviations = -normalQuantile(distribution.error(rank) / 2);
    var ends = walsh.interval(rank), half = 0.5 * (ends[1] - ends[0]);
    return rank > 0 && isFinite(half) ? half / deviations * Math.sqrt(blocks) / Math.sqrt(Math.PI / 3) : null;
  }

  // Fisher's exact test, two-sided.
  function fisher(a, ofA, b, ofB) {
    function lnChoose(n, k) {
      var sum = 0, least = Math.min(k, n - k);
      for (var i = 1; i <= least; i += 1) { sum += Math.log((n - least + i) / i); }
      return sum;
    }
    var hits = a + b, p = 0;
    function log(k) { return lnChoose(ofA, k) + lnChoose(ofB, hits - k) - lnChoose(ofA + ofB, hits); }
    for (var k = Math.max(0, hits - ofB); k <= Math.min(hits, ofA); k += 1) {
      if (log(k) <= log(a) + 1e-7) { p += Math.exp(log(k)); }
    }
    return Math.min(p, 1);
  }

  function isInvalid(row) { return row.outcome.kind === 'invalid'; }

  // The rows that count: of each block the first attempt without an invalid load, else the one with the most valid ones.
  function counted(rows) {
    var blocks = new Map();
    rows.forEach(function (row) {
      if (!blocks.has(row.block)) { blocks.set(row.block, new Map()); }
      var attempts = blocks.get(row.block);
      if (!attempts.has(row.attempt)) { attempts.set(row.attempt, []); }
      attempts.get(row.attempt).push(row);
    });
    var all = [];
    Array.from(blocks.keys()).sort(ascending).forEach(function (block) {
      var attempts = blocks.get(block), best = null, whole = 0;
      function passed(own) { return own.filter(function (row) { return !isInvalid(row); }).length; }
      attempts.forEach(function (own) { whole = Math.max(whole, own.length); });
      Array.from(attempts.keys()).sort(ascending).some(function (attempt) {
        var own = attempts.get(attempt);
        if (best === null || passed(best) < passed(own)) { best = own; }
        return passed(own) === whole;
      });
      all = all.concat(best);
    });
    return all;
  }

  function audited(rows, page) {
    var own = rows.filter(function (row) { return row.page === page; });
    return { trials: own.length, invalid: own.filter(isInvalid).length };
  }

  function refusal(audit) {
    var refused = 2 * audit.invalid >= audit.trials && audit.invalid >= FEWEST_REFUSED;
    return refused ? 'the audit refused ' + audit.invalid + ' of ' + audit.trials
      + ' attempts: too many for a figure' : null;
  }

  function figure(row, metric) {
    var value = row.outcome.kind === 'measured' ? row.metrics[metric] : undefined;
    return value === undefined ? null : value;
  }

  // The logarithms of B over A by block; null stands for a load without a figure.
  function paired(rows, metric, decides) {
    function scores(page) {
      var byBlock = new Map();
      rows.filter(function (row) { return row.page === page; }).forEach(function (row) {
        var value = figure(row, metric);
        var failed = decides && row.outcome.kind === 'failed';
        byBlock.set(row.block, failed ? Infinity : value > 0 ? value : null);
      });
      return byBlock;
    }
    var a = scores('a'), pairs = { logs: [], oneFailed: 0, bothFailed: 0, invalid: 0 };
    scores('b').forEach(function (b, block) {
      if (!a.has(block)) { return; }
      var base = a.get(block);
      if (b === null || base === null) {
        pairs.invalid += 1;
      } else if (b === Infinity && base === Infinity) {
        pairs.bothFailed += 1;
      } else {
        pairs.oneFailed += b === Infinity || base === Infinity ? 1 : 0;
        pairs.logs.push(b === Infinity ? Infinity : base === Infinity ? -Infinity : Math.log(b / base));
      }
    });
    return pairs;
  }

  function verdictOf(interval, margin) {
    if (-margin <= interval[0] && interval[1] <= margin) { return 'tie'; }
    if (interval[1] < 0) { return 'faster'; }
    return interval[0] > 0 ? 'slower' : 'undecided';
  }

  function explain(pairs, rank) {
    var all = pairs.logs.length;
    if (all === 0 && pairs.bothFailed > 0) { return 'both failed in every block'; }
    if (all === 0) { return 'there is no block in which both ran'; }
    if (pairs.oneFailed > 0) { return 'one of the two failed in ' + pairs.oneFailed + ' of ' + all + ' blocks'; }
    return rank > 0 ? null : all + (all === 1 ? ' block is' : ' blocks are') + ' too few for 1 comparison at 95 %';
  }

  // The least number of blocks that decide with a chance of POWER, as a difference or as a tie.
  function blocksNeeded(effect, noise, margin) {
    var reach = -normalQuantile((1 - CONFIDENCE) / 2);
    function chance(blocks) {
      var standardError = noise * Math.sqrt(Math.PI / 3) / Math.sqrt(blocks);
      if (2 * reach * standardError <= margin) { return 1; }
      function passes(distance) { return normalCdf(distance / standardError - reach); }
      var tie = passes(margin - effect) + passes(margin + effect) - 1;
      return passes(effect) - passes(-effect) + Math.max(tie, 0);
    }
    var low = 1, high = LONGEST_ANSWER;
    while (low < high) {
      var middle = Math.floor((low + high) / 2);
      if (chance(middle) < POWER) { low = middle + 1; } else { high = middle; }
    }
    return Math.min(Math.ceil(low + 0.5 * reach * reach), LONGEST_ANSWER);
  }

  // About how many loads of each would decide.
  function trialsNeeded(pairs, walsh, margin) {
    var blocks = pairs.logs.length;
    var speaking = Math.max(Math.ceil(Math.log2(2 / (1 - CONFIDENCE))), blocks + 1);
    var noise = blocks > 0 ? spread(walsh, blocks) : null;
    if (noise !== null && noise > 0) {
      speaking = Math.max(speaking, blocksNeeded(Math.abs(walsh.estimate()), noise, margin));
    }
    var lost = blocks > 0 ? pairs.invalid / blocks : 0;
    var trials = Math.ceil(speaking * (1 + lost));
    return trials < LONGEST_ANSWER ? trials : null;
  }

  // The comparison of B over A by one metric. `names` are those of A and B.
  function compare(rows, metric, settings, names) {
    var margin = Math.log1p(settings.margin);
    var pairs = paired(counted(rows), metric, metric === settings.metric);
    var walsh = walshAverages(pairs.logs);
    var rank = walsh.distribution.rankWithin(1 - CONFIDENCE);
    var interval = walsh.interval(rank);
    var known = pairs.logs.length > 0;
    var found = {
      n: pairs.logs.length,
      ratio: known ? Math.exp(walsh.estimate()) : null,
      ci95: known ? interval.map(Math.exp) : null,
      confidence: 1 - walsh.distribution.error(rank),
      verdict: verdictOf(interval, margin),
      reason: null,
      trials_needed: null,
      p: known ? walsh.pDiffers() : null,
      p_tie: known ? walsh.pWithin(margin) : null
    };
    if (found.verdict === 'undecided') {
      found.reason = explain(pairs, rank);
      var alike = pairs.oneFailed === 0 && pairs.bothFailed === 0;
      found.trials_needed = alike ? trialsNeeded(pairs, walsh, margin) : null;
    }
    return objected(found, audited(rows, 'a'), audited(rows, 'b'), names);
  }

  // Without a verdict where too many loads were invalid, or more of one page than of the other.
  function objected(found, a, b, names) {
    var withheld = { verdict: 'undecided', trials_needed: null };
    var refused = refusal(b) !== null ? names.b + ': ' + refusal(b)
      : refusal(a) !== null ? names.a + ': ' + refusal(a) : null;
    if (refused !== null) {
      return Object.assign(found, withheld, { reason: refused, ratio: null, ci95: null, p: null, p_tie: null });
    }
    if (fisher(b.invalid, b.trials, a.invalid, a.trials) < UNEQUAL) {
      var told = function (audit, name) {
        return audit.invalid + ' of ' + audit.trials + ' attempts of ' + name;
      };
      var reason = 'the audit refused ' + told(b, names.b) + ' and ' + told(a, names.a)
        + ': one of the two disturbs what is measured';
      var p = found.ratio === null ? null : 1;
      return Object.assign(found, withheld, { reason: reason, p: p, p_tie: p });
    }
    return found;
  }

  // The middle time of a page; null without one.
  function medianOf(rows, metric, page) {
    if (refusal(audited(rows, page)) !== null) { return null; }
    var own = counted(rows).filter(function (row) { return row.page === page; });
    return median(own.map(function (row) { return figure(row, metric); })
      .filter(function (value) { return value !== null; }));
  }

  return { compare: compare, counted: counted, medianOf: medianOf, median: median };
}());
