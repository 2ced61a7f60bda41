// Content Delivery Engine (CDE): where a user gets a book from. (AWS ElastiCache in the real one.)
import { Refusal, serve } from "./service.mjs";

const NEAREST = { ursula: process.env.CDS_URL };

export async function handler([, user, , book]) {
  if (!(user in NEAREST)) throw new Refusal(404, `no such user: ${user}`);
  return `${NEAREST[user]}/users/${user}/books/${book}`;
}

serve(import.meta.url, handler);
