// A service of HTTP and Redis: profile.js PORT CACHE USERS [repaired]. GET / answers with the name of user 7, out of the cache or else
// out of the users' service. As it stands, it keeps in the cache what the users' service said when it failed.
const http = require('http'), net = require('net');
const [port, cache, users, repaired] = process.argv.slice(2);

const redis = (...words) => new Promise((done, failed) => {
  const socket = net.connect(cache, '127.0.0.1', () => socket.write(
    `*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')));
  let text = '';
  socket.on('data', (data) => {
    text += data;
    const [head, body] = text.split('\r\n');
    if (head[0] === '$' && head !== '$-1' && text.split('\r\n').length < 3) return;
    socket.end();
    if (head[0] === '-') failed(new Error(head)); else done(head[0] === '$' ? head === '$-1' ? null : body : head);
  });
  socket.on('error', failed);
  socket.on('close', () => failed(new Error('the cache is gone')));
});
const ask = () => new Promise((done, failed) => {
  http.get({port: users, host: '127.0.0.1', path: '/users/7', agent: false}, (response) => {
    let body = '';
    response.on('data', (data) => { body += data; });
    response.on('end', () => done([response.statusCode, body]));
  }).on('error', failed);
});

http.createServer(async (_, response) => {
  const answer = (status, text) => { response.statusCode = status; response.end(text); };
  const known = await redis('GET', 'profile').catch(() => null);
  if (known !== null) return answer(200, known);
  const [status, name] = await ask().catch(() => [503, 'nobody']);
  if (repaired && status !== 200) return answer(503, 'no user');
  await redis('SET', 'profile', name).catch(() => null);
  return status === 200 ? answer(200, name) : answer(503, 'no user');
}).listen(Number(port), '127.0.0.1');
