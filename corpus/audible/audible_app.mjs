// The mobile app: asks CDE where the book is, and that CDS for it. What is not there or not allowed is said; all else
// is 'try again'.
import { Refusal, ask, serve } from "./service.mjs";

const ENGINE_TIMEOUT = 500; // ms
const DELIVERY_TIMEOUT = 4000; // the three calls of CDS fit into it

function show(answer, known) {
  if (answer.status === 200) return answer.text;
  if (known.includes(answer.status)) throw new Refusal(answer.status, answer.text);
  throw new Refusal(503, "something went wrong, please try again");
}

export async function handler([, user, , book]) {
  const place = show(await ask(`${process.env.CDE_URL}/users/${user}/books/${book}`, ENGINE_TIMEOUT), [404]);
  return show(await ask(place, DELIVERY_TIMEOUT), [404, 403]);
}

serve(import.meta.url, handler);
