// Holds the page timer's statistics to vectors/timer/verdicts.json: `node statistics.mjs STATISTICS.js VERDICTS.json`.
// Prints how many cases agree; fails at the first that does not.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import vm from 'node:vm';

const [script, vectors] = process.argv.slice(2).map((path) => fs.readFileSync(path, 'utf8'));
const page = vm.createContext({});
vm.runInContext(script, page);
const statistics = vm.runInContext('statistics', page);

const number = (value) => (value === 'inf' ? Infinity : value);

function close(ours, theirs, what) {
  if (theirs === null || theirs === undefined) {
    assert.equal(ours, null, what);
    return;
  }
  assert.equal(typeof ours, 'number', what);
  const right = number(theirs);
  assert.ok(ours === right || Math.abs(ours - right) <= 1e-9 * Math.abs(right), `${what}: ${ours} is not ${right}`);
}

const cases = JSON.parse(vectors);
for (const [index, one] of cases.entries()) {
  const rows = one.loads.map(([block, attempt, side, end]) => ({
    block,
    attempt,
    page: side,
    outcome: typeof end === 'number' ? { kind: 'measured' } : { kind: end, reason: '' },
    metrics: typeof end === 'number' ? { load_ms: end } : {},
  }));
  const settings = { runs: one.runs, margin: one.margin, metric: 'load_ms' };
  const found = statistics.compare(rows, 'load_ms', settings, { a: 'A', b: 'B' });
  const wanted = one.comparison, name = `case ${index}, ${one.name}`;
  assert.equal(found.verdict, wanted.verdict, name);
  assert.equal(found.n, wanted.n, name);
  assert.equal(found.reason, wanted.reason ?? null, name);
  assert.equal(found.trials_needed, wanted.trials_needed ?? null, name);
  for (const field of ['ratio', 'confidence', 'p', 'p_tie']) {
    close(found[field], wanted[field], `${name}, ${field}`);
  }
  for (const end of [0, 1]) {
    close(found.ci95 && found.ci95[end], wanted.ci95 && wanted.ci95[end], `${name}, ci95`);
    close(statistics.medianOf(rows, 'load_ms', 'ab'[end]), one.medians[end], `${name}, median`);
  }
}
console.log(`${cases.length} cases agree`);
