// A functional test: `node client.js NUMBER URL [late]` makes requests of URL/0, URL/1, ... all at once, and
// prints a line of each answer, in their order. late: POSTs whose body comes in pieces, after the head.
'use strict';
const http = require('http');

const [number, url, late] = [Number(process.argv[2]), process.argv[3], process.argv[4] === 'late'];

const ask = (n) => new Promise((resolve, reject) => {
  const request = http.request(`${url}/${n}`, { agent: false, method: late ? 'POST' : 'GET' }, (response) => {  // site client
    let body = '';
    response.on('data', (text) => { body += text; });
    response.on('end', () => resolve(`${response.statusCode} ${body.trim().replaceAll('\n', ' ')}`));
  });
  request.on('error', reject);
  if (!late) return request.end();
  request.flushHeaders();
  request.once('socket', (socket) => socket.once('connect', () => {
    setImmediate(() => {
      request.write('first');
      setTimeout(() => request.end('last'), 10);
    });
  }));
});

Promise.all([...Array(number).keys()].map(ask)).then((lines) => console.log(lines.join('\n')));
