// drawn_numbers.cjs PORT: GET /draw/N answers with a random number of each source that Node has. With LESS or MORE in the environment it draws one
// number less or more before, of which the answer has nothing. Behind each request a timer that works for none draws, too.
const crypto = require("node:crypto");
const { promisify } = require("node:util");

const number = (bytes) => Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength).readUIntLE(0, 4);
const filled = (array) => promisify(crypto.randomFill)(array);

// Between any two numbers others draw.
const sources = {
  random: () => Math.random(),
  dice: () => 1 + Math.floor(Math.random() * 1e9),
  bytes: () => number(crypto.randomBytes(4)),
  bytesLater: async () => number(await promisify(crypto.randomBytes)(4)),
  filledNow: () => number(crypto.randomFillSync(Buffer.alloc(8), 0, 4)),
  filledNumbers: () => crypto.randomFillSync(new Uint32Array(3), 1, 1)[1],
  filledLater: async () => number(await filled(Buffer.alloc(4))),
  int: () => crypto.randomInt(1e9),
  intBetween: () => crypto.randomInt(-5, 1e9),
  intLater: () => promisify(crypto.randomInt)(1e9),
  uuid: () => parseInt(crypto.randomUUID().slice(-12), 16),
  web: () => crypto.getRandomValues(new Uint32Array(1))[0],
  global: () => globalThis.crypto.getRandomValues(new Int32Array(1))[0],
  webUuid: () => parseInt(crypto.webcrypto.randomUUID().slice(-12), 16),
};

const drawBefore = () => {
  if (process.env.LESS === undefined) crypto.randomBytes(2);
  if (process.env.MORE !== undefined) crypto.randomBytes(3);
};

setInterval(() => {
  crypto.randomBytes(7);
  Math.random();
  crypto.randomBytes(4);
}, 1);

require("node:http").createServer(async (request, response) => {
  drawBefore();
  const answer = {};
  for (const [name, draw] of Object.entries(sources)) answer[name] = await draw();
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(answer));
}).listen(Number(process.argv[2]), "127.0.0.1");
