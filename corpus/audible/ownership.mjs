// Ownership: does the user own the book? (A table of AWS RDS in the real one.)
import { Refusal, serve } from "./service.mjs";

const OWNED = { ursula: ["earthsea"] };
const BOOKS = ["earthsea", "solaris"];

export async function handler([, user, , book]) {
  if (!(user in OWNED) || !BOOKS.includes(book)) throw new Refusal(404, "no such user, or no such book");
  if (!OWNED[user].includes(book)) throw new Refusal(403, `${user} does not own ${book}`);
  return "yes";
}

serve(import.meta.url, handler);
