// Unit tests of the services: their handlers, with stand-ins on real sockets for what they ask. For `node --test`.
import assert from "node:assert/strict";
import http from "node:http";
import { after, test } from "node:test";

import { Refusal, ask, demand, listener } from "./service.mjs";

const servers = [];
after(() => servers.forEach((server) => {
  server.close();
  server.closeAllConnections();
}));

// The URL of a server that answers with what `handler` gives.
async function served(handler) {
  const server = http.createServer(listener(handler));
  servers.push(server);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

const refuse = (status) => async () => { throw new Refusal(status, "refused by the stand-in"); };
const status = (expected) => (error) => error.status === expected;

test("a silent service is refused for", async () => {
  const silent = await served(() => new Promise(() => {}));
  await assert.rejects(ask(`${silent}/x`, 50), status(503));
});

test("only expected statuses are passed on", () => {
  assert.equal(demand({ status: 200, text: "yes" }), "yes");
  assert.throws(() => demand({ status: 404, text: "" }, [404]), status(404));
  assert.throws(() => demand({ status: 403, text: "" }, [404]), status(500));
});

test("ownership tells what is missing from what is not theirs", async () => {
  const { handler } = await import("./ownership.mjs");
  assert.equal(await handler(["users", "ursula", "books", "earthsea"]), "yes");
  await assert.rejects(handler(["users", "ursula", "books", "solaris"]), status(403));
  await assert.rejects(handler(["users", "ursula", "books", "dune"]), status(404));
});

test("activation gives the licence that the assets want", async () => {
  const licence = await (await import("./activation.mjs")).handler(["books", "earthsea"]);
  for (const asset of ["audio_assets", "asset_metadata"]) {
    const { handler } = await import(`./${asset}.mjs`);
    assert.ok(await handler(["books", "earthsea", "licences", licence]));
    await assert.rejects(handler(["books", "earthsea", "licences", "forged"]), status(403));
    await assert.rejects(handler(["books", "solaris", "licences", licence]), status(404));
  }
});

test("stats only takes notes", async () => {
  const { handler } = await import("./stats.mjs");
  assert.equal((await handler([], "POST"))[0], 201);
  await assert.rejects(handler([], "GET"), status(405));
});

test("the download service does without stats, and with nobody else missing", async () => {
  const { handler } = await import("./audible_download_service.mjs");
  const good = await served(async () => "licence-1");
  const bad = await served(refuse(500));
  const asked = ["users", "ursula", "books", "earthsea"];
  Object.assign(process.env, { OWNERSHIP_URL: good, ACTIVATION_URL: good, STATS_URL: bad });
  assert.equal(await handler(asked), "licence-1");
  process.env.ACTIVATION_URL = bad;
  await assert.rejects(handler(asked), status(500));
  process.env.OWNERSHIP_URL = await served(refuse(403));
  await assert.rejects(handler(asked), status(403));
});

test("the delivery service says so when chapters are missing", async () => {
  const { handler } = await import("./content_delivery_service.mjs");
  const good = await served(async () => '["one"]');
  Object.assign(process.env, { ADS_URL: good, AUDIO_ASSETS_URL: good, ASSET_METADATA_URL: good });
  const asked = ["users", "ursula", "books", "earthsea"];
  assert.deepEqual(JSON.parse(await handler(asked)).chapters, ["one"]);
  process.env.ASSET_METADATA_URL = await served(refuse(404));
  await assert.rejects(handler(asked), status(404));
});

test("the app shows what is missing or forbidden, and asks to try again for all else", async () => {
  const { handler } = await import("./audible_app.mjs");
  const asked = ["users", "ursula", "books", "earthsea"];
  for (const [given, shown] of [[404, 404], [403, 403], [500, 503], [503, 503]]) {
    const delivery = await served(refuse(given));
    process.env.CDE_URL = await served(async () => delivery);
    await assert.rejects(handler(asked), status(shown));
  }
});
