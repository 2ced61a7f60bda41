// What the shops in Node share: HTTP on both sides, and the order of things. A cache is {get, fill, count}, each of which
// rejects when Redis does not do it in time.
'use strict';

const http = require('http');

const CATALOGUE_TIMEOUT = 300; // ms

const ask = (number) => new Promise((resolve, reject) => {
  const url = `${process.env.CATALOGUE_URL}/products/${number}`;
  const request = http.get(url, { agent: false, timeout: CATALOGUE_TIMEOUT }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (piece) => { text += piece; });
    response.on('error', reject);
    response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(`status ${response.statusCode}`))));
  });
  request.on('timeout', () => request.destroy(new Error('timeout')));
  request.on('error', reject);
});

// The product as JSON, and how often it was asked for (null: not known). A request to which the cache failed once asks it
// nothing more.
const product = async (cache, number) => {
  const key = `product:${number}`;
  const visits = `visits:${number}`;
  let found;
  try {
    found = await cache.get(key);
  } catch {
    return [await ask(number), null];
  }
  const text = found ?? await ask(number);
  try {
    return [text, found === null ? await cache.fill(key, text, visits) : await cache.count(visits)];
  } catch {
    return [text, null];
  }
};

const answer = async (cache, path) => {
  if (path === '/health') return [200, '{}'];
  const [, number] = path.match(/^\/product\/(\d+)$/) ?? [];
  if (number === undefined) return [404, '{}'];
  try {
    const [text, visits] = await product(cache, number);
    return [200, `{"product": ${text}, "visits": ${visits}}`];
  } catch {
    return [503, '{}'];
  }
};

exports.serve = (cache) => {
  http.createServer(async (request, response) => {
    const [status, text] = await answer(cache, request.url);
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text);
  }).listen(Number(process.argv[2]), '127.0.0.1');
};

exports.CACHE_TIMEOUT = 300; // ms
exports.RECONNECT_AFTER = 20; // ms
exports.KEPT = 60; // seconds
