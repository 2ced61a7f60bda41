// Activation: a licence to play a book. (A table of AWS RDS in the real one.)
import { Refusal, serve } from "./service.mjs";

const LICENCES = { earthsea: "licence-4711", solaris: "licence-4712" };

export async function handler([, book]) {
  if (!(book in LICENCES)) throw new Refusal(404, `no such book: ${book}`);
  return LICENCES[book];
}

serve(import.meta.url, handler);
