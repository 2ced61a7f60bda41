// `front.mjs PORT BACK`: front.py with one session of Node's http2 that is used until it is closed.
// BACK is back.mjs.
import http from 'node:http';
import http2 from 'node:http2';

const [port, back] = process.argv.slice(2).map(Number);
const stats = {calls: 0, messages: 0, failed: []};
let session, timer;

function open() {
  if (session === undefined || session.closed || session.destroyed) {
    session = http2.connect(`http://127.0.0.1:${back}`);
    session.on('error', (error) => stats.failed.push(`session: ${error}`));
  }
  return session;
}

function call(done) {
  const request = open().request({':path': '/'});
  let status;
  request.on('response', (headers) => { status = headers[':status']; });
  request.on('error', () => {});
  request.on('close', () => done(status));
  request.resume();
  request.end();
}

function stream() {
  const request = open().request({':path': '/echo', ':method': 'POST'}, {endStream: false});
  request.on('data', () => {
    ++stats.messages;
    setTimeout(() => request.write('message'), 5);
  });
  request.on('error', (error) => stats.failed.push(`stream: ${error}`));
  request.on('close', () => stats.failed.push('stream: closed'));
  request.write('message');
}

function again() {
  call((status) => {
    ++stats.calls;
    if (status !== 200) stats.failed.push(`call: ${status}`);
    if (timer !== null) timer = setTimeout(again, 1);
  });
}

http.createServer((incoming, answer) => {
  if (incoming.url === '/start') {
    stream();
    again();
    answer.end();
  } else if (incoming.url === '/stop') {
    clearTimeout(timer);
    timer = null;
    answer.end();
  } else if (incoming.url === '/stats') {
    answer.end(JSON.stringify(stats));
  } else {
    call((status) => {
      answer.statusCode = status === 200 ? 200 : 503;
      answer.end();
    });
  }
}).listen(port, '127.0.0.1');
