//! What is random in a page becomes the same in every load: random numbers come from one seed, and time begins at the
//! recording's and goes on by calls, as in Chromium's Web Page Replay. `performance` and timers stay as they are, so that
//! what is measured is not touched.

use crate::contract::Transport;

/// The script that runs before anything of the page, with the time that the page sees, in milliseconds since 1970.
pub fn freezing_script(epoch_ms: u64) -> String {
    SCRIPT.replace("EPOCH", &epoch_ms.to_string())
}

/// The script that keeps a page from opening WebSockets: they stay as they are before they are open. Browsers open them over
/// TCP alone, which is no part of a replay over HTTP/3.
pub(crate) const WITHOUT_SOCKETS: &str = r#"self.WebSocket = class WebSocket extends EventTarget {
  constructor(url) { super(); this.url = String(url); this.readyState = 0; this.bufferedAmount = 0; }
  send() { throw new DOMException('it is not open', 'InvalidStateError'); }
  close() { this.readyState = 3; }
};
Object.assign(self.WebSocket, { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 });"#;

/// What runs in a replay over `transport` before anything of the page.
pub(crate) fn replaying_script(epoch_ms: u64, transport: Transport) -> String {
    let sockets = if transport == Transport::H3 { WITHOUT_SOCKETS } else { "" };
    format!("{}\n{sockets}", freezing_script(epoch_ms))
}

/// Time goes on by 50 ms with every 25 calls: a loop that waits for it ends.
const SCRIPT: &str = r#"(() => {
  let state = 0x9E3779B9;
  // mulberry32
  const next = () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  Math.random = () => next() / 4294967296;
  if (self.Crypto) {
    Crypto.prototype.getRandomValues = function (array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255;
      return array;
    };
    Crypto.prototype.randomUUID = function () {
      const b = this.getRandomValues(new Uint8Array(16));
      b[6] = (b[6] & 15) | 64;
      b[8] = (b[8] & 63) | 128;
      const hex = Array.from(b, x => x.toString(16).padStart(2, '0')).join('');
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    };
  }
  const Real = Date;
  let time = EPOCH, calls = 0;
  const now = () => {
    if (++calls % 25 === 0) time += 50;
    return time;
  };
  self.Date = new Proxy(Real, {
    construct: (target, args, made) => Reflect.construct(target, args.length ? args : [now()], made),
    apply: () => new Real(now()).toString(),
    get: (target, name) => name === 'now' ? now : Reflect.get(target, name),
  });
  Real.prototype.constructor = self.Date;
})();"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_the_one_that_is_given() {
        let script = freezing_script(1_767_268_800_123);
        assert!(script.contains("time = 1767268800123,") && !script.contains("EPOCH"));
    }
}
