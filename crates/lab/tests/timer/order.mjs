// The order of loads and the URLs that are opened: `node order.mjs RUN.js`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import vm from 'node:vm';

const page = vm.createContext({ URL, location: { href: 'http://127.0.0.1:8080/timer#a=/a' } });
vm.runInContext(fs.readFileSync(process.argv[2], 'utf8'), page);
const timer = vm.runInContext('timer', page);

// Of many seeds each page comes first in half of all blocks, and in the first block too.
let first = 0, opening = 0;
const SEEDS = 2000, RUNS = 7;
for (let seed = 1; seed <= SEEDS; seed += 1) {
  const orders = timer.orders(RUNS, seed);
  assert.equal(orders.length, RUNS);
  for (const [block, order] of orders.entries()) {
    assert.deepEqual([...order].sort(), ['a', 'b']);
    first += order[0] === 'a' ? 1 : 0;
    if (block % 2 === 1) {
      assert.deepEqual([...order], [...orders[block - 1]].reverse(), 'every other block runs backwards');
    }
  }
  opening += orders[0][0] === 'a' ? 1 : 0;
  assert.deepEqual(JSON.stringify(timer.orders(RUNS, seed)), JSON.stringify(orders), 'a seed gives one order');
}
// Five standard deviations of a fair coin.
assert.ok(Math.abs(opening - SEEDS / 2) < 5 * Math.sqrt(SEEDS) / 2, `${opening} of ${SEEDS}`);
assert.ok(Math.abs(first - SEEDS * RUNS / 2) < 5 * Math.sqrt(SEEDS) / 2, `${first} of ${SEEDS * RUNS}`);

for (const [given, wanted] of [
  ['/a.html', 'http://127.0.0.1:8080/a.html?wirelap-run=7'],
  ['b.html?x=1#top', 'http://127.0.0.1:8080/b.html?x=1&wirelap-run=7#top'],
  ['/page?seed={unique}&bytes=1', 'http://127.0.0.1:8080/page?seed=7&bytes=1'],
]) {
  assert.equal(timer.uniqueUrl(given, 7), wanted);
}
