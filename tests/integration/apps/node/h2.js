// Services and a test over HTTP/2: `node h2.js serve PORT [BACK]` answers /n after BACK/n/0 and BACK/n/1, the second when
// the first has come back, all on one session; with HEARTBEAT it also asks BACK/heartbeat every 5 ms. BODY=late: after
// the request's body has come. COMPAT=1: by the events of 'request'. `node h2.js ask NUMBER URL`: all at once.
'use strict';
const http2 = require('http2');

const [mode, word, origin] = process.argv.slice(2);

const asking = (session) => (path, post) => new Promise((resolve, reject) => {
  const stream = session.request({ ':path': path, ...(post ? { ':method': 'POST' } : {}) });  // site ask
  if (Object.keys(stream.sentHeaders).includes('x-filibuster')) reject(new Error('a field of ours is shown'));
  let status = 0;
  stream.on('response', (headers) => { status = headers[':status']; });
  stream.resume();
  stream.on('end', () => (status === 200 ? resolve() : reject(new Error(`${path}: ${status}`))));
  stream.on('error', reject);
  stream.end(post ? 'body' : undefined);
});

const serve = () => {
  const work = async (path) => {
    if (back === undefined) return;
    await back(`${path}/0`);  // site first
    await back(`${path}/1`);  // site second
  };
  const server = http2.createServer();
  if (process.env.COMPAT) {
    server.on('request', (request, response) => {
      request.resume().on('end', () => work(request.url).then(() => response.end()));
    });
  } else {
    server.on('stream', (stream, headers) => {
      const answer = () => work(headers[':path']).then(() => {
        stream.respond({ ':status': 200 });
        stream.end();
      });
      if (process.env.BODY === 'late') stream.resume().on('end', answer);
      else answer();
    });
  }
  const back = origin === undefined ? undefined : asking(http2.connect(origin));
  if (process.env.HEARTBEAT) setInterval(() => back('/heartbeat').catch(() => {}), 5);
  server.listen(Number(word), '127.0.0.1');
};

const ask = async () => {
  const session = http2.connect(origin);
  const one = asking(session);
  await Promise.all([...Array(Number(word)).keys()].map((n) => one(`/${n}`, true)));
  session.close();
};

if (mode === 'serve') serve();
else ask().catch((error) => { console.error(error); process.exitCode = 1; });
