// How this application speaks to its clouds. Every client gives a request up after TIMEOUT milliseconds, and tries it three
// times with a short wait. What must not be done twice has a client of its own that tries once.
const { NodeHttpHandler } = require("@smithy/node-http-handler");
const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { S3Client } = require("@aws-sdk/client-s3");
const { RestError, createDefaultHttpClient } = require("@azure/core-rest-pipeline");
const { AzureNamedKeyCredential, TableServiceClient, TableClient } = require("@azure/data-tables");
const blob = require("@azure/storage-blob");
const queue = require("@azure/storage-queue");

const TIMEOUT = 500;
const TRIES = 3;
const WAIT = 20;

// The account that Azurite always has; its key is public.
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

// The storage SDKs ask the service for a time limit and set none themselves. A request that is given up becomes an error that
// they know.
const impatient = {
  inner: createDefaultHttpClient(),
  async sendRequest(request) {
    request.timeout = TIMEOUT;
    request.allowInsecureConnection = true;
    try {
      return await this.inner.sendRequest(request);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      throw new RestError(`no answer within ${TIMEOUT} ms`, { code: "ETIMEDOUT", request });
    }
  },
};

// The pipeline of one of the two storage SDKs. It takes only clients of an older interface by its options.
function storagePipeline(sdk, tries) {
  const credential = new sdk.StorageSharedKeyCredential(ACCOUNT, KEY);
  const pipeline = sdk.newPipeline(credential, { retryOptions: { maxTries: tries, retryDelayInMs: WAIT, maxRetryDelayInMs: 2 * WAIT } });
  pipeline._coreHttpClient = impatient;
  return pipeline;
}

const blobs = () => new blob.BlobServiceClient(`${process.env.BLOB_URL}/${ACCOUNT}`, storagePipeline(blob, TRIES));
const queues = (tries = TRIES) => new queue.QueueServiceClient(`${process.env.QUEUE_URL}/${ACCOUNT}`, storagePipeline(queue, tries));

function table(name) {
  const options = {
    httpClient: impatient,
    allowInsecureConnection: true,
    retryOptions: { maxRetries: TRIES - 1, retryDelayInMs: WAIT, maxRetryDelayInMs: 2 * WAIT },
  };
  const credential = new AzureNamedKeyCredential(ACCOUNT, KEY);
  const url = `${process.env.TABLE_URL}/${ACCOUNT}`;
  return { service: new TableServiceClient(url, credential, options), rows: new TableClient(url, name, credential, options) };
}

function aws(endpoint, tries) {
  return {
    endpoint,
    region: "eu-central-1",
    credentials: { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" },
    maxAttempts: tries,
    // Without the last option a timeout is a warning, and the request waits on.
    requestHandler: new NodeHttpHandler({ connectionTimeout: TIMEOUT, requestTimeout: TIMEOUT, throwOnRequestTimeout: true }),
    retryMode: "standard",
  };
}

const objects = () => new S3Client({ ...aws(process.env.S3_URL, TRIES), forcePathStyle: true });
const numbers = (tries = TRIES) => new DynamoDBClient(aws(process.env.DYNAMO_URL, tries));

module.exports = { blobs, queues, table, objects, numbers };
