// Node's fetch (undici) behind the subject contract, version 2 (docs/subjects.md).
// Usage: node fetch.js FOLDER-OF-NODE-MODULES < job.json
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { performance } = require('node:perf_hooks');

const job = JSON.parse(fs.readFileSync(0, 'utf8'));
const say = (line) => fs.writeSync(1, JSON.stringify(line) + '\n');
const unsupported = (reason, remedy) => {
  say({ event: 'unsupported', reason, remedy });
  process.exit(127);
};

if (!['http/1.1', 'h2'].includes(job.transport)) unsupported(`undici does not speak ${job.transport}`);
if (job.transport === 'h2' && !job.keep_alive) unsupported('undici keeps a connection of HTTP/2');
if (job.transport === 'h2' && job.tls === 'none') unsupported('undici speaks HTTP/2 over TLS alone');

let undici;
try {
  undici = require(path.join(process.argv[2], 'undici'));
} catch {
  unsupported('undici is not installed', './peers install');
}

const version = { 'none': undefined, '1.2': 'TLSv1.2', '1.3': 'TLSv1.3' }[job.tls];
let opened = 0;

// One agent is one client: its connections, and the TLS sessions that it takes up again.
function client() {
  const connect = undici.buildConnector({
    ca: job.trust ? fs.readFileSync(job.trust) : undefined,
    minVersion: version,
    maxVersion: version,
    allowH2: job.transport === 'h2',
    maxCachedSessions: job.resumption ? 100 : 0,
    autoSelectFamily: false,
    timeout: job.timeout_ms,
  });
  const agent = new undici.Agent({
    connections: job.connections,
    pipelining: job.transport === 'h2' ? 100 : 1,
    allowH2: job.transport === 'h2',
    headersTimeout: job.timeout_ms,
    bodyTimeout: job.timeout_ms,
    connect(options, callback) {
      connect(options, (error, socket) => {
        if (socket) opened += 1;
        callback(error, socket);
      });
    },
  });
  if (job.keep_alive) return agent;
  // What undici calls a reset is `connection: close`.
  return agent.compose((dispatch) => (options, handler) => dispatch({ ...options, reset: true }, handler));
}

async function fetchOne(dispatcher, one, now, started) {
  const line = { event: 'fetch', id: one.id, started_ms: started };
  try {
    const signal = AbortSignal.timeout(job.timeout_ms);
    const body = one.body_file ? fs.readFileSync(one.body_file) : undefined;
    const method = one.method ?? 'GET';
    const headers = one.headers ?? {};
    const answer = await undici.fetch(one.url, { dispatcher, signal, redirect: 'manual', method, headers, body });
    line.first_byte_ms = now();
    let bytes = 0;
    const counted = async function* (pieces) {
      for await (const piece of pieces) {
        bytes += piece.length;
        yield piece;
      }
    };
    const source = answer.body ? Readable.fromWeb(answer.body) : Readable.from([]);
    if (one.file !== null) {
      await pipeline(source, counted, fs.createWriteStream(path.join(job.output, one.file)));
    } else {
      for await (const _ of counted(source));
    }
    return { ...line, status: answer.status, bytes, ended_ms: now() };
  } catch (error) {
    const reason = error.cause ? `${error.message}: ${error.cause.message}` : error.message;
    delete line.first_byte_ms;
    return { ...line, error: reason, ended_ms: now() };
  }
}

async function work(dispatcher, now, tell) {
  const one = async (fetch, started) => tell(await fetchOne(dispatcher, fetch, now, started));
  let rest = job.fetches;
  if (job.workload === 'page' && rest.length > 0) {
    await one(rest[0], now());
    rest = rest.slice(1);
  }
  if (job.pattern.kind === 'serial') {
    for (const fetch of rest) await one(fetch, now());
  } else if (job.pattern.kind === 'parallel') {
    await Promise.all(rest.map((fetch) => one(fetch, now())));
  } else {
    const every = job.pattern.every_ms;
    const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await Promise.all(rest.map(async (fetch, nth) => {
      await later(Math.max(0, nth * every - now()));
      await one(fetch, nth * every);
    }));
  }
}

(async () => {
  const begun = performance.now();
  for (let round = 0; round < job.warmup; round += 1) {
    const warm = client();
    await work(warm, () => 0, () => {});
    await warm.close();
  }
  const warmed = job.warmup > 0 ? { warmup_ms: performance.now() - begun } : {};
  const dispatcher = client();
  const { version: undiciVersion } = require(path.join(process.argv[2], 'undici/package.json'));
  const self = { name: 'undici', version: undiciVersion, runtime: `Node ${process.version}`, key_log: false, ...warmed };
  say({ event: 'ready', ...self });
  const zero = performance.now();
  await work(dispatcher, () => performance.now() - zero, say);
  say({ event: 'done', connections: opened });
  await dispatcher.close();
})();
