// `back.mjs PORT`: HTTP/2 that echoes what it gets.
import http2 from 'node:http2';

const server = http2.createServer();
server.on('stream', (stream) => {
  stream.on('error', () => {});
  stream.respond({':status': 200});
  stream.pipe(stream);
});
server.listen(Number(process.argv[2]), '127.0.0.1');
