// Fetches a page over one HTTP/2 connection, twice where a second argument says so, and prints what came of it: a line a
// response, with its links and cookie.
import { connect } from 'node:http2';

const session = connect(process.argv[2], { rejectUnauthorized: false });
const lines = [];
const count = (stream, done) => {
  let total = 0;
  stream.on('data', (piece) => { total += piece.length; });
  stream.on('end', () => done(total));
};
let open = 0;
const ended = (line) => {
  lines.push(line);
  if (--open === 0) {
    for (const text of lines.sort()) console.log(text);
    session.close();
  }
};
session.on('error', (error) => { console.log(String(error)); process.exit(1); });
session.on('stream', (pushed, asked) => {
  open += 1;
  pushed.on('push', (answer) => {
    count(pushed, (total) => ended(`pushed ${asked[':path']} ${answer[':status']} ${total}`));
  });
});
open += 1;
const page = session.request({ ':path': process.argv[3] });
page.on('headers', (early) => lines.push(`early ${early[':status']} ${early.link}`));
page.on('response', (answer) => {
  count(page, (total) => ended(`page ${answer[':status']} ${total} ${answer['set-cookie'] ?? ''}`));
});
page.end();
