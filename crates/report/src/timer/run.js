// A run: blocks of one load of each page, in random order, with what makes a block invalid repeated. It knows neither
// the form nor the tables: `tell` and `progress` take what there is to say.
var timer = (function () {
  'use strict';
  var MOST_ATTEMPTS = 3;
  var LARGEST_SEED = 4294967296;

  function Refused(message) { this.message = message; }

  // Marsaglia's xorshift of 32 bits: the seed in the download gives the same order again.
  function random(seed) {
    var state = seed || 1;
    return function () {
      state ^= state << 13; state >>>= 0;
      state ^= state >>> 17;
      state ^= state << 5; state >>>= 0;
      return state / LARGEST_SEED;
    };
  }

  // A random order, and every other block the one before it backwards.
  function orders(runs, seed) {
    var next = random(seed), all = [];
    for (var i = 0; i < 8; i += 1) { next(); }
    for (var block = 0; block < runs; block += 1) {
      if (block % 2 === 1) {
        all.push(all[block - 1].slice().reverse());
      } else {
        all.push(next() < 0.5 ? ['a', 'b'] : ['b', 'a']);
      }
    }
    return all;
  }

  // The URL of one load: `{unique}` in it is replaced by a number, else a parameter is added.
  function uniqueUrl(url, number) {
    if (url.indexOf('{unique}') >= 0) { return new URL(url.replace(/\{unique\}/g, number), location.href).href; }
    var own = new URL(url, location.href);
    own.search += (own.search === '' ? '?' : '&') + 'wirelap-run=' + number;
    return own.href;
  }

  // What can be said of the pages before any is timed. Throws Refused.
  async function check(settings, pages, urlOf) {
    if (location.protocol !== 'http:' && location.protocol !== 'https:') {
      throw new Refused('This page was opened from a file. Put it on the server of the pages, and open it from there.');
    }
    for (var side of ['a', 'b']) {
      var name = pages[side].name, url;
      try { url = new URL(urlOf(side)); } catch (error) { throw new Refused(name + ': this is no URL.'); }
      if (url.origin !== location.origin) {
        throw new Refused(name + ' is at another origin (' + url.origin + '). A page may only time pages of its own: '
          + 'put this file on that server too, or choose a page of ' + location.origin + '.');
      }
      var answer;
      try {
        answer = await fetch(url.href, { cache: 'no-store', credentials: 'same-origin' });
      } catch (error) {
        throw new Refused(name + ' cannot be reached, or leads to another origin: ' + url.pathname + ' (' + error.message + ').');
      }
      if (!answer.ok) { throw new Refused(name + ': ' + url.pathname + ' is answered with status ' + answer.status + '.'); }
      await answer.arrayBuffer();
    }
  }

  function open(settings) {
    var size = 'popup,width=' + settings.width + ',height=' + settings.height;
    var popup = window.open('about:blank', 'wirelap-timer', size);
    if (!popup) {
      throw new Refused('The browser blocked the pop-up. Allow pop-ups for ' + location.host + ', and start again.');
    }
    return popup;
  }

  // One load, as a row.
  async function one(popup, place, side, context) {
    var url = context.urlOf(side);
    var wasHidden = document.hidden;
    function listen() { wasHidden = wasHidden || document.hidden; }
    document.addEventListener('visibilitychange', listen);
    try {
      var row = await sampler.load(popup, url, {
        timeout: context.settings.timeout_ms, settle: context.settings.settle_ms,
        isCold: context.settings.cache === 'cold', isStopped: context.isStopped, tell: context.tell,
        wasHidden: function () { return wasHidden; }
      });
      return Object.assign({ block: place.block, attempt: place.attempt, order: place.order, page: side, url: url }, row);
    } finally {
      document.removeEventListener('visibilitychange', listen);
    }
  }

  async function blocks(popup, context) {
    var settings = context.settings, rows = context.rows;
    var all = orders(settings.runs, settings.seed);
    var anew = Math.max(Math.ceil(settings.runs / 2), 2);
    for (var block = 0; block < settings.runs; block += 1) {
      for (var attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
        var loads = [];
        for (var order = 0; order < 2; order += 1) {
          var side = all[block][order];
          context.progress(block, attempt, side);
          loads.push(await one(popup, { block: block, attempt: attempt, order: order }, side, context));
        }
        // Both together, so that a run that is stopped has no half block.
        rows.push.apply(rows, loads);
        var bad = loads.filter(function (row) { return row.outcome.kind === 'invalid'; });
        var last = attempt + 1 === MOST_ATTEMPTS;
        if (bad.length > 0 && last && block === 0) { throw new Refused('The first block was invalid ' + MOST_ATTEMPTS + ' times: ' + bad[0].outcome.reason + '.' + remedy(bad[0])); }
        if (bad.length === 0 || last || anew === 0) { break; }
        anew -= 1;
      }
    }
  }

  function remedy(row) {
    return /^not cold/.test(row.outcome.reason) ? ' Have the server send Cache-Control: no-store with it, or choose the warm cache.' : '';
  }

  // Runs to the end, and returns whether it was stopped before.
  async function run(context) {
    var number = Date.now() * 1000;
    context.urlOf = function (side) {
      var url = context.pages[side].url;
      number += 1;
      var isCold = context.settings.cache === 'cold';
      return isCold ? uniqueUrl(url, number) : new URL(url.replace(/\{unique\}/g, '0'), location.href).href;
    };
    // First of all, while the browser still remembers the click.
    var popup = open(context.settings);
    try {
      context.tell('Asking for both pages.');
      await check(context.settings, context.pages, context.urlOf);
      for (var side of ['a', 'b']) {
        context.progress(-1, 0, side);
        var row = await one(popup, { block: 0, attempt: 0, order: 0 }, side, context);
        if (row.outcome.kind === 'failed') {
          throw new Refused(context.pages[side].name + ': ' + row.outcome.reason + '.');
        }
      }
      await blocks(popup, context);
      return false;
    } catch (error) {
      if (error instanceof sampler.Stopped) { return true; }
      if (error instanceof sampler.Lost) { throw new Refused(error.message); }
      throw error;
    } finally {
      popup.close();
    }
  }

  return { run: run, orders: orders, uniqueUrl: uniqueUrl, Refused: Refused, LARGEST_SEED: LARGEST_SEED };
}());
