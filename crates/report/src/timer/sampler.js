// Loads one page once in the pop-up and reads its times. Everything is read from outside, through the pop-up's window:
// the pages under test need nothing of ours in them. A load ends as `measured`, `invalid` or `failed`, with the reason.
var sampler = (function () {
  'use strict';
  var STEP = 4;
  var NO_OTHER_URL = 'about:blank';
  // Observers of a page, and what they saw. A browser may collect an observer that nobody refers to, and with it entries
  // that come late.
  var kept = [];

  function Stopped() { this.message = 'stopped'; }
  function Lost(message) { this.message = message; }

  var GONE = 'The pop-up is gone: it was closed, or the page cut it off (Cross-Origin-Opener-Policy).';
  var WENT_ON = 'the page went on to another one by a script: give the URL of the last one';
  var UNREADABLE = 'the page cannot be read: it could not be loaded, or it led to another origin';

  function pause(ms) { return new Promise(function (done) { setTimeout(done, ms); }); }

  // The pop-up's document; null where it belongs to another origin, as a browser's own error page does.
  function documentOf(popup) {
    try { return popup.document; } catch (error) { return null; }
  }

  function check(popup, isStopped) {
    if (isStopped()) { throw new Stopped(); }
    if (popup.closed) { throw new Lost(GONE); }
  }

  // Waits until nobody hides the pop-up.
  async function untilVisible(popup, isStopped, tell) {
    for (;;) {
      check(popup, isStopped);
      var page = documentOf(popup);
      if (page === null || !page.hidden) { return; }
      tell('The pop-up is hidden. Bring it to the front: nothing is timed until then.');
      await pause(200);
    }
  }

  // Leaves the page before, so that every load starts from the same empty one.
  async function empty(popup, isStopped, patience) {
    var end = performance.now() + patience;
    popup.location.replace(NO_OTHER_URL);
    for (;;) {
      check(popup, isStopped);
      var page = documentOf(popup);
      if (page !== null && page.URL === NO_OTHER_URL && page.readyState === 'complete') { break; }
      if (performance.now() > end) { throw new Lost('The pop-up does not let go of the page before.'); }
      await pause(STEP);
    }
    // What the page before still had to do ends here.
    await pause(100);
  }

  // Watches a document from the moment that it is there.
  function watch(popup) {
    var seen = { document: popup.document, hidden: popup.document.hidden, goneAt: popup.performance.now(), bodyAt: null, lcp: null, paints: {} };
    if (popup.performance.setResourceTimingBufferSize) { popup.performance.setResourceTimingBufferSize(100000); }
    popup.document.addEventListener('visibilitychange', function () {
      seen.hidden = seen.hidden || popup.document.hidden;
    });
    var Observer = popup.PerformanceObserver;
    var types = Observer && Observer.supportedEntryTypes || [];
    function observe(type, take) {
      if (types.indexOf(type) < 0) { return; }
      var observer = new Observer(function (list) { list.getEntries().forEach(take); });
      observer.observe({ type: type, buffered: true });
      kept.push(observer);
    }
    observe('paint', function (entry) { seen.paints[entry.name] = entry.startTime; });
    observe('largest-contentful-paint', function (entry) { seen.lcp = entry.startTime; });
    observe('visibility-state', function (entry) { seen.hidden = seen.hidden || entry.name === 'hidden'; });
    kept.push(seen);
    return seen;
  }

  // The navigation's entry once the load event is over; undefined before. Safari has it since version 15; before that the
  // same times are those of Navigation Timing 1, in milliseconds of the wall clock.
  function navigation(popup) {
    var entry = popup.performance.getEntriesByType('navigation')[0] || firstVersion(popup);
    return entry && entry.loadEventEnd > 0 ? entry : undefined;
  }

  function firstVersion(popup) {
    var timing = popup.performance.timing;
    if (!timing) { return undefined; }
    var entry = { name: popup.document.URL };
    ['responseStart', 'unloadEventEnd', 'domContentLoadedEventEnd', 'loadEventEnd'].forEach(function (name) {
      entry[name] = timing[name] > 0 ? timing[name] - timing.navigationStart : 0;
    });
    return entry;
  }

  // Watches the load until its load event is over.
  async function loaded(popup, before, run) {
    var end = performance.now() + run.timeout, seen = null;
    for (;;) {
      check(popup, run.isStopped);
      var page = documentOf(popup);
      if (page === null) {
        return { failed: UNREADABLE };
      }
      if (page !== before && page.URL !== NO_OTHER_URL) {
        if (seen === null) { seen = watch(popup); }
        if (page !== seen.document) { return { failed: WENT_ON }; }
        if (seen.bodyAt === null && page.body && page.body.offsetHeight > 0) {
          seen.bodyAt = popup.performance.now();
        }
        if (page.readyState === 'complete' && navigation(popup)) { return { seen: seen }; }
      }
      if (performance.now() > end) {
        return { failed: 'no load event within ' + run.timeout / 1000 + ' s' };
      }
      await pause(STEP);
    }
  }

  // Resource Timing §3: 0 bytes for what the cache answered, 300 for what it asked about, body and 300 for the rest. Of
  // what it asked about Chromium tells no body, and neither of what has none: a style sheet, a script or an image has one.
  // Safari tells of both since version 16.4.
  function isCached(entry) {
    var sent = entry.transferSize, body = entry.encodedBodySize;
    if (sent === undefined || body === undefined) { return false; }
    if (body === 0) { return sent === 300 && ['img', 'link', 'script', 'css'].indexOf(entry.initiatorType) >= 0; }
    return sent < body || sent === 300;
  }

  // Resources, and those of them that the cache answered or only asked about. Of resources of other origins that do not
  // allow it, nothing is known.
  function resources(popup, navigation) {
    var all = [navigation].concat(popup.performance.getEntriesByType('resource'));
    // The icon is the browser's, not the page's: Firefox tells of it, and keeps it.
    var icons = Array.from(popup.document.querySelectorAll('link[rel~="icon"]')).map(function (link) { return link.href; });
    all = all.filter(function (entry) {
      return /^https?:/.test(entry.name) && icons.indexOf(entry.name) < 0 && !/^[^?#]*\/favicon\.ico$/.test(entry.name);
    });
    var cached = all.filter(isCached).map(function (entry) { return entry.name; });
    // Firefox does not tell of images that it has in memory.
    var told = all.map(function (entry) { return entry.name; });
    Array.from(popup.document.images).forEach(function (image) {
      var url = image.currentSrc;
      if (image.naturalWidth > 0 && /^https?:/.test(url) && told.indexOf(url) < 0) {
        told.push(url);
        cached.push(url);
      }
    });
    return { count: told.length, cached: cached };
  }

  function times(entry, seen) {
    var firstByte = entry.finalResponseHeadersStart || entry.responseStart;
    var told = seen.paints['first-paint'];
    var all = {
      first_byte_ms: firstByte,
      // Of an empty page before, browsers do not tell when it was gone.
      unload_ms: entry.unloadEventEnd || seen.goneAt,
      first_paint_ms: told === undefined ? seen.bodyAt : told,
      fcp_ms: seen.paints['first-contentful-paint'],
      lcp_ms: seen.lcp,
      dom_content_loaded_ms: entry.domContentLoadedEventEnd,
      load_ms: entry.loadEventEnd
    };
    var known = {};
    Object.keys(all).forEach(function (name) {
      if (all[name] > 0) { known[name] = Math.round(all[name] * 1000) / 1000; }
    });
    return known;
  }

  // One load of `url`. `run` has timeout and settle in milliseconds, isCold, isStopped and tell.
  async function load(popup, url, run) {
    kept = [];
    await empty(popup, run.isStopped, run.timeout);
    await untilVisible(popup, run.isStopped, run.tell);
    var before = popup.document;
    popup.location.replace(url);
    var ended = await loaded(popup, before, run);
    var none = { metrics: {}, resources: 0, cached: 0 };
    if (ended.failed) {
      // A browser's own error page stays until it is left.
      return Object.assign(none, { outcome: { kind: 'failed', reason: ended.failed } });
    }
    await pause(run.settle);
    check(popup, run.isStopped);
    if (documentOf(popup) === null) {
      return Object.assign(none, { outcome: { kind: 'failed', reason: UNREADABLE } });
    }
    return result(popup, ended.seen, run);
  }

  function result(popup, seen, run) {
    var entry = navigation(popup), page = popup.document;
    if (!entry || page !== seen.document) {
      return { outcome: { kind: 'failed', reason: WENT_ON }, metrics: {}, resources: 0, cached: 0 };
    }
    var loads = resources(popup, entry);
    var row = {
      outcome: { kind: 'measured' },
      metrics: times(entry, seen),
      protocol: entry.nextHopProtocol || undefined,
      resources: loads.count,
      cached: loads.cached.length
    };
    if (row.metrics.first_paint_ms !== undefined) {
      row.first_paint = seen.paints['first-paint'] === undefined ? 'body_height' : 'paint_timing';
    }
    function refuse(kind, reason) { row.outcome = { kind: kind, reason: reason }; return row; }
    if (entry.responseStatus >= 400) { return refuse('failed', 'status ' + entry.responseStatus); }
    if (seen.hidden || page.hidden) { return refuse('invalid', 'the pop-up was hidden'); }
    if (row.first_paint === 'body_height' && run.wasHidden()) {
      // Timers of a hidden page run once a second.
      return refuse('invalid', 'the timer was hidden, and its clock slowed down');
    }
    if (run.isCold && row.cached > 0) {
      var first = new URL(loads.cached[0]);
      return refuse('invalid', 'not cold: the browser\u2019s cache took part in ' + row.cached + ' of ' + row.resources
        + ' resources, such as ' + first.pathname);
    }
    return row;
  }

  return { load: load, Stopped: Stopped, Lost: Lost };
}());
