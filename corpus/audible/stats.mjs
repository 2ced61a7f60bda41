// Stats: who played what. (AWS DynamoDB in the real one; here nothing is kept, so that every test finds the same.)
import { Refusal, serve } from "./service.mjs";

export async function handler(segments, method) {
  if (method !== "POST") throw new Refusal(405, "POST only");
  return [201, "noted"];
}

serve(import.meta.url, handler);
