// client.mjs PORT N: N requests at once in one session of Node's http2, every other one with a body;
// prints the status of each.
import http2 from 'node:http2';

const [port, count] = process.argv.slice(2).map(Number);
const session = http2.connect(`http://127.0.0.1:${port}`);
session.on('error', () => {});
const statuses = await Promise.all(Array.from({length: count}, (_, n) => new Promise((resolve) => {
  const post = n % 2 === 1;
  const request = session.request({':path': '/hello', ':method': post ? 'POST' : 'GET', number: String(n)});
  request.on('response', (headers) => resolve(headers[':status']));
  request.on('error', (error) => resolve(error.code));
  // Node takes a stream that is reset with CANCEL for one that has ended: neither of the above comes.
  request.on('close', () => resolve(`closed:${request.rstCode}`));
  request.resume();
  request.end(post ? `n=${n}` : undefined);
})));
console.log(statuses.join(' '));
session.close();
