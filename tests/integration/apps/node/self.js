// `node self.js PORT`: GET /n calls itself twice with /n-1, both at once, down to /0.
'use strict';
const http = require('http');
const port = Number(process.argv[2]);

const get = (path) => new Promise((resolve, reject) => {
  http.get({ port, path, host: '127.0.0.1' }, (response) => response.resume().on('end', resolve)).on('error', reject);
});

http.createServer(async (request, response) => {
  const n = Number(request.url.slice(1));
  if (n > 0) await Promise.all([get(`/${n - 1}`), get(`/${n - 1}`)]);
  response.end();
}).listen(port, '127.0.0.1');
