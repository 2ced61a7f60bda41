// The suite that this application has had all along: it knows nothing of faults. Its names end in 'Unit' where one class is
// tested, and in 'System' where several are.
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const { Albums, Catalogue, Copies, Jobs, Views } = require("../albums.js");

const unique = (word) => `${word}${crypto.randomBytes(6).toString("hex")}`;

describe("albums", () => {
  it("an album begins empty (Unit)", async () => {
    const albums = new Albums();
    const name = unique("album");
    await albums.create(name);
    assert.deepEqual(await albums.photos(name), []);
  });

  it("a photo is listed (Unit)", async () => {
    const albums = new Albums();
    const name = unique("album");
    await albums.create(name);
    await albums.addPhoto(name, "sea.jpg", Buffer.from("sea"));
    assert.deepEqual(await albums.photos(name), ["sea.jpg"]);
  });
});

describe("jobs", () => {
  it("jobs are taken in their order (Unit)", async () => {
    const jobs = new Jobs(unique("jobs"));
    await jobs.open();
    await jobs.put("first");
    await jobs.put("second");
    assert.equal(await jobs.take(), "first");
    assert.equal(await jobs.take(), "second");
  });

  it("a job that was put is there (Unit)", async () => {
    const jobs = new Jobs(unique("jobs"));
    await jobs.open();
    await jobs.put("resize");
    assert.equal(await jobs.take(), "resize");
  });
});

describe("catalogue", () => {
  it("titles are kept (Unit)", async () => {
    const catalogue = new Catalogue(unique("titles"));
    await catalogue.open();
    const kept = await catalogue.describe("sea.jpg", "The sea");
    assert.deepEqual(await catalogue.titles(), kept ? ["The sea"] : []);
  });
});

describe("copies", () => {
  it("a copy can be read (Unit)", async () => {
    const copies = new Copies(unique("copies"));
    await copies.open();
    copies.copy("sea.jpg", "sea");
    if ((await copies.settled()) === 1) assert.equal(await copies.read("sea.jpg"), "sea");
  });
});

describe("views", () => {
  it("each view counts once (Unit)", async () => {
    const views = new Views(unique("views"));
    await views.open();
    await views.seen("summer");
    assert.equal(await views.count("summer"), 1);
  });
});

describe("arithmetic", () => {
  it("makes no call", () => assert.equal(1 + 1, 2));
});
