// As get_client.py: node get_client.js fetch|axios URL [MODULES]
"use strict";
const [library, url, modules] = process.argv.slice(2);
const kTimeoutMs = 1000;
const tell = (status, body) => {
  const whole = body.equals(Buffer.from("0123456789".repeat(200)));
  console.log(`${status} ${body.length} bytes${whole || status !== 200 ? "" : " changed"}`);
};
const get = {
  async fetch() {
    const answer = await fetch(url, { signal: AbortSignal.timeout(kTimeoutMs) });
    tell(answer.status, Buffer.from(await answer.arrayBuffer()));
  },
  async axios() {
    const axios = require(`${modules}/axios/dist/node/axios.cjs`);
    const answer = await axios.get(url, { timeout: kTimeoutMs, responseType: "arraybuffer" });
    tell(answer.status, Buffer.from(answer.data));
  },
};
get[library]().catch((error) => {
  const of = error.cause && (error.cause.code || error.cause.name);
  const cause = of === error.code ? "" : of;
  const code = typeof error.code === "string" ? ` ${error.code}` : "";
  console.log(`${error.name}${code}${cause ? ` of ${cause}` : ""}${error.response ? ` ${error.response.status}` : ""}`);
});
