// Fetches a page's worth of images over one HTTP/2 connection and says how much came.
import { connect } from 'node:http2';

const session = connect(process.argv[2], { rejectUnauthorized: false });
session.on('error', (error) => { console.log(String(error)); process.exit(1); });
let left = 200, total = 0;
for (let index = 0; index < 200; index++) {
  const stream = session.request({ ':path': `/image/${index}?bytes=20000` });
  stream.on('data', (piece) => { total += piece.length; });
  stream.on('end', () => {
    if (--left === 0) {
      console.log(session.alpnProtocol, total);
      session.close();
    }
  });
}
