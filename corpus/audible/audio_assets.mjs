// Audio Assets: the sound of a book, for who has a licence. (A bucket of AWS S3 in the real one.)
import { Refusal, serve } from "./service.mjs";

const SOUNDS = { earthsea: { licence: "licence-4711", sound: "The island of Gont ..." } };

export async function handler([, book, , licence]) {
  if (!(book in SOUNDS)) throw new Refusal(404, `no sound of ${book}`);
  if (SOUNDS[book].licence !== licence) throw new Refusal(403, "not this licence");
  return SOUNDS[book].sound;
}

serve(import.meta.url, handler);
