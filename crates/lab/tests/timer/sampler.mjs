// One load in a browser that lacks what newer ones have: `node sampler.mjs SAMPLER.js`. What is not there is absent among the
// times, and everything else is read.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import vm from 'node:vm';

const context = vm.createContext({ performance, setTimeout, URL, Array });
vm.runInContext(fs.readFileSync(process.argv[2], 'utf8'), context);
const sampler = vm.runInContext('sampler', context);

const PAGE = 'http://127.0.0.1:8080/page';
const IMAGE = 'http://127.0.0.1:8080/image';

// A pop-up with this window; its `performance` is made at each load.
function popupOf(window, performanceOf) {
  const popup = { closed: false, ...window };
  const open = (url) => {
    popup.document = {
      URL: url, readyState: 'complete', hidden: false, body: { offsetHeight: 20 },
      images: [{ currentSrc: IMAGE, naturalWidth: 9 }], querySelectorAll: () => [], addEventListener() {},
    };
    popup.performance = { now: () => 12, ...performanceOf() };
  };
  open('about:blank');
  popup.location = { replace: open };
  return popup;
}

async function timed(window, performanceOf) {
  const run = { timeout: 2000, settle: 5, isCold: true, isStopped: () => false, tell() {}, wasHidden: () => false };
  return JSON.parse(JSON.stringify(await sampler.load(popupOf(window, performanceOf), PAGE, run)));
}

const RESOURCES = [{ name: IMAGE, initiatorType: 'img' }];
const entries = (byType) => (type) => byType[type] || [];

// Navigation Timing 1 alone: no observer, no navigation entry, no sizes.
const first = await timed({}, () => ({
  timing: {
    navigationStart: 1000, unloadEventEnd: 0, responseStart: 1040, domContentLoadedEventEnd: 1120, loadEventEnd: 1150,
  },
  getEntriesByType: entries({ resource: RESOURCES }),
}));
assert.deepEqual(first.outcome, { kind: 'measured' });
assert.deepEqual(first.metrics, {
  first_byte_ms: 40, unload_ms: 12, first_paint_ms: 12, dom_content_loaded_ms: 120, load_ms: 150,
});
assert.equal(first.first_paint, 'body_height');
assert.equal(first.cached, 0);

// An observer that does not say what it knows, and refuses to be asked.
class Mute { observe() { throw new TypeError('no entryTypes'); } }
const navigation = {
  name: PAGE, responseStart: 40, unloadEventEnd: 0, domContentLoadedEventEnd: 120, loadEventEnd: 150,
  transferSize: 1300, encodedBodySize: 1000, nextHopProtocol: 'h2',
};
const sized = [{ ...RESOURCES[0], transferSize: 5300, encodedBodySize: 5000 }];
const second = await timed({ PerformanceObserver: Mute }, () => ({
  setResourceTimingBufferSize() {}, getEntriesByType: entries({ navigation: [navigation], resource: sized }),
}));
assert.deepEqual(second.outcome, { kind: 'measured' });
assert.equal(second.protocol, 'h2');
assert.equal(second.metrics.fcp_ms, undefined);
assert.equal(second.metrics.lcp_ms, undefined);

// Safari's: the first contentful paint and no other, no largest one, no state of visibility.
const asked = [];
class Paints {
  static supportedEntryTypes = ['mark', 'measure', 'navigation', 'paint', 'resource'];
  constructor(take) { this.take = take; }
  observe({ type }) {
    asked.push(type);
    this.take({ getEntries: () => [{ name: 'first-contentful-paint', startTime: 90 }] });
  }
}
const third = await timed({ PerformanceObserver: Paints }, () => ({
  setResourceTimingBufferSize() {}, getEntriesByType: entries({ navigation: [navigation], resource: sized }),
}));
assert.deepEqual(asked, ['paint']);
assert.equal(third.metrics.fcp_ms, 90);
assert.equal(third.metrics.first_paint_ms, 12);
assert.equal(third.metrics.lcp_ms, undefined);

// What a cache answered is seen where sizes are told.
const fourth = await timed({}, () => ({
  getEntriesByType: entries({ navigation: [navigation], resource: [{ ...sized[0], transferSize: 0 }] }),
}));
assert.equal(fourth.outcome.kind, 'invalid');
assert.match(fourth.outcome.reason, /cache took part in 1 of 2/);
