// `node get_front.js PORT URL`: asks URL twice, one call after the other, and answers 503 if one of them fails.
'use strict';
const http = require('http');

function ask(url) {
  return new Promise((resolve) => {
    const request = http.get(url, { timeout: 1000 }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode < 400));
      answer.on('error', () => resolve(false));
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', () => resolve(false));
  });
}

http.createServer(async (request, response) => {
  const good = await ask(`${process.argv[3]}first`) && await ask(`${process.argv[3]}second`);
  response.writeHead(good ? 200 : 503);
  response.end();
}).listen(Number(process.argv[2]), '127.0.0.1');
