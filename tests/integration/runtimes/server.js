// server.py's service for Node: server.js CLIENT PORT BACK. CLIENT: request (http.request), agent (the same on connections
// that are kept), fetch. A POST's body comes with its head, or in a later turn of the loop.
const http = require('node:http');

const [client, port, back] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const own = `http://127.0.0.1:${port}`;
const kinds = ['GET', 'one', 'two'];
const body = 'name=value&'.repeat(20);
const agent = new http.Agent({ keepAlive: client === 'agent' });

function callByRequest(url, kind) {
  return new Promise((resolve, reject) => {
    const headers = kind === 'GET' ? {} : { 'Content-Length': body.length };
    const request = http.request(url, { agent, headers, method: kind === 'GET' ? 'GET' : 'POST' }, (response) => {
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(url))));
      response.resume();
    });
    request.on('error', reject);
    if (kind === 'two') {
      request.flushHeaders();
      setImmediate(() => request.end(body));
    } else {
      request.end(kind === 'one' ? body : undefined);
    }
  });
}

async function callByFetch(url, kind) {
  const response = await fetch(url, kind === 'GET' ? {} : { method: 'POST', body });
  await response.text();
  if (response.status !== 200) throw new Error(url);
}

const call = client === 'fetch' ? callByFetch : callByRequest;

function callsOf(path) {
  const urls = path.endsWith('/self') ? [`${back}${path}/0`] : [`${back}${path}/0`, `${own}${path}/self`, `${back}${path}/1`];
  const first = path.match(/[0-9]+/g).reduce((sum, digits) => sum + Number(digits), 0);
  return urls.map((url, n) => [url, kinds[(first + n) % kinds.length]]);
}

http.createServer((request, response) => {
  request.on('end', async () => {
    for (const [url, kind] of callsOf(request.url)) await call(url, kind);
    response.end(request.url);
  });
  request.resume();
}).listen(port, '127.0.0.1', () => {
  let number = 0;
  const beat = () => callByRequest(`${back}/background/${number++}`, 'GET').catch(() => {}).finally(() => setTimeout(beat, 5));
  beat();
});
