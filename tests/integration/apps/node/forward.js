// A proxy: `node forward.js PORT`: sends what it gets, with its header fields but that of the connection, to BACK/n/forwarded.
'use strict';
const http = require('http');

http.createServer((request, response) => {
  const { connection, ...headers } = request.headers;
  const onward = http.request(`${process.env.BACK}${request.url}/forwarded`, { headers }, (answer) => {
    response.writeHead(answer.statusCode);
    answer.pipe(response);
  });
  request.pipe(onward);
}).listen(Number(process.argv[2]), '127.0.0.1');
