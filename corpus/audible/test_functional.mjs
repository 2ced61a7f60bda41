// A user plays a book: sound and chapters, also when Stats fails. What is missing or not theirs they are told so; for
// all else they are asked to try again.
import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";

function get(url, headers = {}) {
  return new Promise((resolve, reject) => {
    const request = (url.startsWith("https:") ? https : http).get(url, { agent: false, headers }, (response) => {
      let text = "";
      response.on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("error", reject);
  });
}

// The faults that were injected in the running execution, asked for once. Without Filibuster none ever is.
async function injectedFaults() {
  const { FILIBUSTER_URL, FILIBUSTER_TOKEN } = process.env;
  if (!FILIBUSTER_URL) return [];
  const answer = await get(`${FILIBUSTER_URL}/v1/fault-injected`, { Authorization: `Bearer ${FILIBUSTER_TOKEN}` });
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text).faults;
}

// The predicate: was one injected that is like `query`?
let faults;
async function wasFaultInjected(query) {
  faults ??= await injectedFaults();
  return faults.some((row) => Object.entries(query).every(([name, value]) => row[name] === value));
}

// Without any of these there is no book; Stats is not missed.
const REQUIRED = ["content-delivery-engine", "content-delivery-service", "audible-download-service", "ownership",
                  "activation", "audio-assets", "asset-metadata"];
// The engine and Activation never forbid: from them a 403 is a failure like any other.
const FORBIDS = REQUIRED.filter((service) => service !== "content-delivery-engine" && service !== "activation");

async function expectedStatus() {
  for (const service of REQUIRED) {
    if (!(await wasFaultInjected({ service }))) continue;
    if (await wasFaultInjected({ service, fault: "status:404" })) return 404;
    if (FORBIDS.includes(service) && (await wasFaultInjected({ service, fault: "status:403" }))) return 403;
    return 503;
  }
  return 200;
}

const { status, text } = await get(`${process.env.APP_URL}/users/ursula/books/earthsea`);
assert.equal(status, await expectedStatus(), text);
if (status === 200) {
  assert.deepEqual(JSON.parse(text), {
    sound: "The island of Gont ...",
    chapters: ["Warriors in the Mist", "The Shadow"],
  });
}
