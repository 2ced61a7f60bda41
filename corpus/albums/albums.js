// Photo albums in the cloud: photos in blobs, work to do in a queue, what is known of a photo in a table, copies in S3, and how
// often an album was seen in DynamoDB. ALBUMS_BUGS names the mistakes to make (README.md).
const crypto = require("node:crypto");
const { GetObjectCommand, PutObjectCommand, CreateBucketCommand } = require("@aws-sdk/client-s3");
const dynamo = require("@aws-sdk/client-dynamodb");
const clients = require("./clients.js");

const bugs = new Set((process.env.ALBUMS_BUGS || "").split(",").filter(Boolean));

class Albums {
  constructor() {
    this.blobs = clients.blobs();
  }

  // Makes an album. One that another caller has made is an error.
  async create(name) {
    const token = crypto.randomUUID();
    const container = this.blobs.getContainerClient(name);
    try {
      await container.create({ metadata: { token } });
    } catch (error) {
      // The first try may have made it, and only its answer was lost.
      if (bugs.has("conflict") || error.code !== "ContainerAlreadyExists") throw error;
      const { metadata } = await container.getProperties();
      if (metadata.token !== token) throw error;
    }
  }

  async addPhoto(name, photo, bytes) {
    await this.blobs.getContainerClient(name).getBlockBlobClient(photo).upload(bytes, bytes.length);
  }

  async photos(name) {
    const found = [];
    for await (const { name: photo } of this.blobs.getContainerClient(name).listBlobsFlat()) found.push(photo);
    return found;
  }
}

class Jobs {
  constructor(name) {
    // A message that is taken or put by a request without an answer is taken or put again by the next try.
    const once = bugs.has("twice") ? undefined : 1;
    this.jobs = clients.queues().getQueueClient(name);
    this.once = clients.queues(once).getQueueClient(name);
  }

  async open() {
    await this.jobs.createIfNotExists();
  }

  async put(job) {
    await this.once.sendMessage(job);
  }

  // The next job, or null.
  async take() {
    const { receivedMessageItems } = await this.once.receiveMessages({ numberOfMessages: 1 });
    return receivedMessageItems.length > 0 ? receivedMessageItems[0].messageText : null;
  }
}

// What is known of photos. `known` has the names of the rows in the table.
class Catalogue {
  constructor(name) {
    this.table = clients.table(name);
    this.name = name;
    this.known = new Set();
  }

  async open() {
    await this.table.service.createTable(this.name);
  }

  // False: it could not be kept.
  async describe(photo, title) {
    if (bugs.has("optimist")) this.known.add(photo);
    try {
      await this.table.rows.upsertEntity({ partitionKey: "photos", rowKey: photo, title });
    } catch (error) {
      return false;
    }
    this.known.add(photo);
    return true;
  }

  async titles() {
    const titles = [];
    for (const photo of this.known) titles.push((await this.table.rows.getEntity("photos", photo)).title);
    return titles;
  }
}

// Copies of photos. They are made in the background: `settled` waits for them.
class Copies {
  constructor(bucket) {
    this.bucket = bucket;
    this.objects = clients.objects();
    this.running = [];
  }

  async open() {
    try {
      await this.objects.send(new CreateBucketCommand({ Bucket: this.bucket }));
    } catch (error) {
      // It may be there: the first try may have made it.
      if (!error.name.startsWith("BucketAlready")) throw error;
    }
  }

  copy(photo, bytes) {
    const copied = this.objects.send(new PutObjectCommand({ Bucket: this.bucket, Key: photo, Body: bytes }));
    this.running.push(copied);
  }

  // How many of the copies were made.
  async settled() {
    const ended = await Promise.allSettled(this.running);
    this.running = [];
    if (bugs.has("careless")) return ended.filter(({ value }) => value.ETag !== "").length;
    return ended.filter(({ status }) => status === "fulfilled").length;
  }

  async read(photo) {
    const { Body } = await this.objects.send(new GetObjectCommand({ Bucket: this.bucket, Key: photo }));
    return Body.transformToString();
  }
}

// How often an album was seen.
class Views {
  constructor(table) {
    this.table = table;
    this.numbers = clients.numbers();
    // An addition is not repeated, since nobody knows whether the first one happened.
    this.once = clients.numbers(bugs.has("twice") ? undefined : 1);
  }

  async open() {
    try {
      await this.numbers.send(new dynamo.CreateTableCommand({
        TableName: this.table,
        AttributeDefinitions: [{ AttributeName: "album", AttributeType: "S" }],
        KeySchema: [{ AttributeName: "album", KeyType: "HASH" }],
        BillingMode: "PAY_PER_REQUEST",
      }));
    } catch (error) {
      // It may be there: the first try may have made it.
      if (error.name !== "ResourceInUseException") throw error;
    }
    let status;
    while (status !== "ACTIVE") {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const { Table } = await this.numbers.send(new dynamo.DescribeTableCommand({ TableName: this.table }));
      status = Table.TableStatus;
    }
  }

  async seen(album) {
    await this.once.send(new dynamo.UpdateItemCommand({
      TableName: this.table,
      Key: { album: { S: album } },
      UpdateExpression: "ADD seen :one",
      ExpressionAttributeValues: { ":one": { N: "1" } },
    }));
  }

  async count(album) {
    const { Item } = await this.numbers.send(new dynamo.GetItemCommand({ TableName: this.table, Key: { album: { S: album } }, ConsistentRead: true }));
    return Item ? Number(Item.seen.N) : 0;
  }
}

module.exports = { Albums, Catalogue, Copies, Jobs, Views };
