// Audible Download Service (ADS): may this user play this book? If so, the licence. Stats is told, and not missed.
import { ask, demand, serve } from "./service.mjs";

const TIMEOUT = 500; // ms, for each of the three

export async function handler([, user, , book]) {
  demand(await ask(`${process.env.OWNERSHIP_URL}/users/${user}/books/${book}`, TIMEOUT), [404, 403]);
  const licence = demand(await ask(`${process.env.ACTIVATION_URL}/books/${book}`, TIMEOUT), [404]);
  await ask(`${process.env.STATS_URL}/users/${user}/books/${book}`, TIMEOUT, "POST").catch(() => {});
  return licence;
}

serve(import.meta.url, handler);
