// The form, the progress and the result. Settings stand in the fragment of the address, so that a link carries them.
(function () {
  'use strict';
  var SCHEMA = 'wirelap.timer/1';
  var VERSION = '{{version}}';
  var METRICS = [
    ['first_byte_ms', 'first byte'], ['unload_ms', 'unload of the page before'], ['first_paint_ms', 'first paint'],
    ['fcp_ms', 'first contentful paint'], ['lcp_ms', 'largest contentful paint'],
    ['dom_content_loaded_ms', 'DOMContentLoaded'], ['load_ms', 'load']
  ];
  var FIELDS = ['a', 'b', 'runs', 'metric', 'margin', 'cache', 'aname', 'bname', 'timeout', 'settle', 'width', 'height'];
  var SIGNS = { faster: '\u25bc', slower: '\u25b2', tie: '=', undecided: '?' };
  var stopped = false;
  var current = null;

  function at(id) { return document.getElementById(id); }

  function element(name, attributes, children) {
    var isSvg = ['svg', 'line', 'circle', 'rect', 'text', 'g'].indexOf(name) >= 0;
    var made = isSvg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    [].concat(children === undefined ? [] : children).forEach(function (child) {
      made.append(child);
    });
    return made;
  }

  function duration(ms) {
    if (ms === null) { return '\u2013'; }
    var unit = ms >= 999.5 ? [1000, 's'] : [1, 'ms'], value = ms / unit[0];
    var decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return value.toFixed(decimals) + '\u00a0' + unit[1];
  }

  function isAnything(ci95) { return ci95[0] === 0 && ci95[1] === Infinity; }

  function ratio(found) {
    if (found.ratio === null) { return ''; }
    var near = found.ci95.some(function (end) { return Math.abs(end - 1) < 0.005; });
    function fixed(value) { return isFinite(value) ? value.toFixed(near ? 3 : 2) : '\u221e'; }
    var interval = isAnything(found.ci95) ? '(too few loads for an interval)'
      : '[' + fixed(found.ci95[0]) + ', ' + fixed(found.ci95[1]) + ']';
    return fixed(found.ratio) + '\u00d7 ' + interval;
  }

  function words(metric) { return METRICS.find(function (one) { return one[0] === metric; })[1]; }

  function names(run) { return { a: run.pages.a.name, b: run.pages.b.name }; }

  function finding(run, found) {
    var own = names(run), by = ratio(found);
    switch (found.verdict) {
    case 'tie': return [own.b + ' and ' + own.a + ' tie', by];
    case 'undecided': return ['Whether ' + own.b + ' is faster than ' + own.a + ' is undecided', by];
    default: return [own.b + ' is ' + found.verdict + ' than ' + own.a, by];
    }
  }

  // The settings of the form, as the download holds them.
  function settings() {
    return {
      runs: Number(at('runs').value), metric: at('metric').value, margin: Number(at('margin').value) / 100,
      seed: Math.floor(Math.random() * (timer.LARGEST_SEED - 1)) + 1, cache: at('cache').value,
      timeout_ms: Number(at('timeout').value) * 1000, settle_ms: Number(at('settle').value),
      width: Number(at('width').value), height: Number(at('height').value)
    };
  }

  function remember() {
    var own = new URLSearchParams();
    FIELDS.forEach(function (id) { own.set(id, at(id).value); });
    history.replaceState(null, '', '#' + own);
  }

  function recall() {
    var own = new URLSearchParams(location.hash.slice(1));
    FIELDS.forEach(function (id) { if (own.has(id)) { at(id).value = own.get(id); } });
  }

  function say(text) { at('status').textContent = text; }

  function alarm(text) {
    at('alarm').hidden = text === null;
    at('alarm').textContent = '';
    if (text !== null) { at('alarm').append(element('b', {}, 'Not timed.'), ' ' + text); }
  }

  function busy(is) {
    at('form').querySelectorAll('input, select, #start').forEach(function (one) { one.disabled = is; });
    at('stop').hidden = !is;
    at('running').hidden = !is;
    document.body.dataset.state = is ? 'running' : 'ready';
  }

  async function start(event) {
    event.preventDefault();
    alarm(null);
    var own = settings();
    var pages = {
      a: { name: at('aname').value.trim(), url: at('a').value.trim() },
      b: { name: at('bname').value.trim(), url: at('b').value.trim() }
    };
    if (pages.a.name === pages.b.name) { return alarm('Both pages have the same name.'); }
    remember();
    busy(true);
    stopped = false;
    var timed = false;
    current = {
      schema: SCHEMA, version: VERSION, started: new Date().toISOString(), timer: location.origin + location.pathname,
      user_agent: navigator.userAgent, pages: pages, settings: own, stopped: false, rows: []
    };
    try {
      current.stopped = await timer.run({
        settings: own, pages: pages, rows: current.rows, tell: say,
        isStopped: function () { return stopped; }, progress: progress
      });
      say(current.stopped ? 'Stopped: the blocks that ended count.' : 'Done.');
      timed = true;
    } catch (error) {
      current.stopped = true;
      say('');
      alarm(error instanceof timer.Refused ? error.message : 'The timer itself failed: ' + error);
    }
    busy(false);
    if (current.rows.length > 0) { show(current); }
    // For whoever hears the page.
    if (timed && current.rows.length > 0) { say(at('status').textContent + ' ' + at('finding').textContent.trim() + '.'); }
    document.body.dataset.state = at('alarm').hidden ? 'done' : 'refused';
  }

  function progress(block, attempt, side) {
    var runs = current.settings.runs, name = current.pages[side].name;
    at('progress').value = Math.max(block, 0) / runs;
    say(block < 0 ? 'Opening connections: a load of ' + name + ' that does not count.' : '');
    at('count').textContent = block < 0 ? ''
      : 'Block ' + (block + 1) + ' of ' + runs + (attempt > 0 ? ', attempt ' + (attempt + 1) : '') + ': ' + name + '.';
  }

  function forest(found, margin, reach) {
    function x(value) {
      return Math.min(Math.max(50 + Math.log(Math.max(value, 1e-9)) / reach * 50, 0), 100).toFixed(2) + '%';
    }
    var band = x(1 / (1 + margin)), width = (parseFloat(x(1 + margin)) - parseFloat(band)).toFixed(2) + '%';
    return element('svg', { class: 'forest side-b', width: '100%', height: 14, 'aria-hidden': 'true' }, [
      element('rect', { class: 'band', x: band, y: 0, width: width, height: 14 }),
      element('line', { class: 'one', x1: '50%', x2: '50%', y1: 0, y2: 14 }),
      element('line', { class: 'interval', x1: x(found.ci95[0]), x2: x(found.ci95[1]), y1: 7, y2: 7 }),
      element('circle', { class: 'dot', cx: x(found.ratio), cy: 7, r: 4 })
    ]);
  }

  function table(target, head, rows) {
    target.textContent = '';
    var cells = head.map(function (name) { return element('th', { scope: 'col', class: name[1] }, name[0]); });
    target.append(element('thead', {}, element('tr', {}, cells)), element('tbody', {}, rows));
  }

  function times(run) {
    var found = METRICS.map(function (one) {
      return { metric: one, comparison: statistics.compare(run.rows, one[0], run.settings, names(run)) };
    });
    var ends = found.filter(function (one) { return one.comparison.ci95 && !isAnything(one.comparison.ci95); })
      .map(function (one) { return Math.max.apply(null, one.comparison.ci95.map(function (end) { return Math.abs(Math.log(end)); })); })
      .filter(isFinite);
    var reach = Math.min(Math.max.apply(null, ends.concat(Math.log(1.25))), Math.log(10)) * 1.08;
    var rows = found.map(function (one) {
      var id = one.metric[0], comparison = one.comparison, decides = id === run.settings.metric;
      var own = ['a', 'b'].map(function (side) { return statistics.medianOf(run.rows, id, side); });
      if (own[0] === null && own[1] === null && !decides) {
        return element('tr', {}, [element('th', { scope: 'row' }, one.metric[1]),
          element('td', { colspan: 5, class: 'note' }, 'not told by this browser of these pages')]);
      }
      var more = [comparison.reason, comparison.trials_needed === null ? null
        : 'about ' + comparison.trials_needed + ' loads of each would decide'].filter(Boolean).join('; ');
      return element('tr', { class: decides ? 'decides' : '', 'data-metric': id, 'data-verdict': comparison.verdict }, [
        element('th', { scope: 'row' }, one.metric[1] + (decides ? ' (decides)' : '')),
        element('td', { class: 'n' }, duration(own[0])), element('td', { class: 'n' }, duration(own[1])),
        element('td', { class: 'n' }, ratio(comparison)),
        element('td', {}, comparison.ci95 && !isAnything(comparison.ci95) ? forest(comparison, run.settings.margin, reach) : []),
        element('td', {}, [element('span', { class: 'word' }, SIGNS[comparison.verdict] + ' ' + comparison.verdict),
          element('small', {}, more)])
      ]);
    });
    var own = names(run);
    table(at('times'), [['', 't'], [own.a, 'n'], [own.b, 'n'], [own.b + ' over ' + own.a, 'n'], ['', 't'], [own.b + ' is', 't']], rows);
    return found.find(function (one) { return one.metric[0] === run.settings.metric; }).comparison;
  }

  // Ticks at round numbers, about five of them.
  function ticks(max) {
    var power = Math.pow(10, Math.floor(Math.log10(max / 5)));
    var step = [1, 2, 5, 10].map(function (f) { return f * power; }).find(function (s) { return s >= max / 5 * (1 - 1e-9); });
    var all = [];
    for (var value = 0; value <= max; value += step) { all.push(value); }
    return all;
  }

  function dots(run) {
    var metric = run.settings.metric, rows = statistics.counted(run.rows), ROW = 70;
    function of(side) {
      return rows.filter(function (row) { return row.page === side && row.outcome.kind === 'measured' && row.metrics[metric] !== undefined; })
        .map(function (row) { return row.metrics[metric]; }).sort(function (a, b) { return a - b; });
    }
    var max = Math.max.apply(null, of('a').concat(of('b'), 1)) * 1.03, all = ticks(max);
    function x(ms) { return (ms / max * 100).toFixed(2) + '%'; }
    var axis = element('g', { class: 'axis' }, all.reduce(function (made, value, i) {
      var anchor = i === 0 ? 'start' : value / max > 0.94 ? 'end' : 'middle';
      var text = String(Math.round(value / (max >= 1000 ? 1000 : 1) * 1000) / 1000);
      text += i === all.length - 1 ? max >= 1000 ? '\u00a0s' : '\u00a0ms' : '';
      return made.concat(element('line', { x1: x(value), x2: x(value), y1: 0, y2: 2 * ROW }),
        element('text', { x: x(value), y: 2 * ROW + 16, 'text-anchor': anchor }, text));
    }, []));
    var sides = ['a', 'b'].map(function (side, i) {
      var values = of(side), top = i * ROW, middle = statistics.medianOf(run.rows, metric, side);
      var failed = rows.filter(function (row) { return row.page === side && row.outcome.kind === 'failed'; }).length;
      var last = [-9, -9, -9, -9, -9], LANES = [0, -6, 6, -12, 12];
      var drawn = values.map(function (ms) {
        var place = ms / max * 100;
        var lane = last.findIndex(function (end) { return place - end >= 0.94; });
        if (lane < 0) { lane = last.indexOf(Math.min.apply(null, last)); }
        last[lane] = place;
        return element('circle', { class: 'dot', cx: x(ms), cy: top + 42 + LANES[lane], r: 3.5 });
      });
      var label = element('text', { class: 'label name', x: 0, y: top + 16 }, run.pages[side].name + '  ' + duration(middle));
      var mark = middle === null ? [] : [element('line', { class: 'median', x1: x(middle), x2: x(middle), y1: top + 55, y2: top + 66 })];
      var crosses = failed === 0 ? [] : [element('text', { class: 'cross', x: '100%', y: top + 46, 'text-anchor': 'end' }, '\u2715'.repeat(Math.min(failed, 12)))];
      return element('g', { class: 'side-' + side }, drawn.concat(label, mark, crosses));
    });
    at('dots').textContent = '';
    at('dots').append(element('svg', { role: 'img', 'aria-labelledby': 'dots-title', 'aria-describedby': 'dots-about', width: '100%',
      height: 2 * ROW + 20, style: 'display: block; overflow: visible' }, [axis].concat(sides)));
    at('dots-title').textContent = 'Every load: ' + words(metric);
  }

  function loads(run) {
    var rows = run.rows.map(function (row) {
      var known = METRICS.map(function (one) {
        var value = row.metrics[one[0]];
        return element('td', { class: 'n' }, value === undefined ? '' : value.toFixed(1));
      });
      return element('tr', {}, [element('th', { scope: 'row', class: 'n' }, String(row.block + 1)),
        element('td', {}, run.pages[row.page].name), element('td', {}, row.outcome.kind)]
        .concat(known, element('td', {}, row.protocol || ''), element('td', { class: 't' }, row.outcome.reason || '')));
    });
    table(at('loads'), [['block', 'n'], ['page', 't'], ['outcome', 't']].concat(
      METRICS.map(function (one) { return [one[1] + ', ms', 'n']; }), [['protocol', 't'], ['reason', 't']]), rows);
  }

  function show(run) {
    var found = times(run), told = finding(run, found);
    at('finding').textContent = '';
    at('finding').append(told[0] + ' ', element('span', { class: 'by' }, told[1] === '' ? '' : '(' + told[1] + ')'));
    document.body.dataset.verdict = found.verdict;
    var counted = statistics.counted(run.rows), protocols = new Set(counted.map(function (row) { return row.protocol; }).filter(Boolean));
    var refused = run.rows.filter(function (row) { return row.outcome.kind === 'invalid'; }).length;
    at('conditions').textContent = [
      'Decided by ' + words(run.settings.metric) + ', ' + found.n + ' blocks', 'connections open',
      run.settings.cache === 'cold' ? 'cache cold' : 'cache as the loads before left it',
      Array.from(protocols).join(', '), refused === 0 ? '' : refused + ' loads invalid',
      run.stopped ? 'ended before the last block' : ''
    ].filter(Boolean).join('; ') + '.';
    dots(run);
    loads(run);
    at('result').hidden = false;
  }

  function download() {
    var text = JSON.stringify(current, null, 1) + '\n';
    var link = element('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/json' })), download: 'timer.json' });
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  }

  METRICS.forEach(function (one) { at('metric').append(element('option', { value: one[0] }, one[1])); });
  at('metric').value = 'load_ms';
  recall();
  at('form').addEventListener('submit', start);
  at('stop').addEventListener('click', function () { stopped = true; say('Stopping.'); });
  at('download').addEventListener('click', download);
  document.body.dataset.state = 'ready';
  // For whoever drives this page: what the download would hold.
  window.wirelapTimer = { result: function () { return current; } };
}());
