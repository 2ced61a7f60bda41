// Asset Metadata: the chapters of a book, for who has a licence. (A bucket of AWS S3 in the real one.)
import { Refusal, serve } from "./service.mjs";

const CHAPTERS = { earthsea: { licence: "licence-4711", chapters: ["Warriors in the Mist", "The Shadow"] } };

export async function handler([, book, , licence]) {
  if (!(book in CHAPTERS)) throw new Refusal(404, `no chapters of ${book}`);
  if (CHAPTERS[book].licence !== licence) throw new Refusal(403, "not this licence");
  return JSON.stringify(CHAPTERS[book].chapters);
}

serve(import.meta.url, handler);
