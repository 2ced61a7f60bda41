// Content Delivery Service (CDS): the sound and the chapters of a book, for who may play it.
import { ask, demand, serve } from "./service.mjs";

const DOWNLOAD_TIMEOUT = 2000; // ms; the three calls of ADS fit into it
const ASSET_TIMEOUT = 500;

// The bug of the real one: where there is a sound there are chapters, so nobody looked for a 404.
const CHAPTERS_ARE_THERE = process.env.AUDIBLE_BUG === "missing-chapters";

export async function handler([, user, , book]) {
  const permission = await ask(`${process.env.ADS_URL}/users/${user}/books/${book}`, DOWNLOAD_TIMEOUT);
  const licence = demand(permission, [404, 403, 503]);
  const asset = `books/${book}/licences/${licence}`;
  const sound = demand(await ask(`${process.env.AUDIO_ASSETS_URL}/${asset}`, ASSET_TIMEOUT), [404, 403]);
  const metadata = await ask(`${process.env.ASSET_METADATA_URL}/${asset}`, ASSET_TIMEOUT);
  const chapters = demand(metadata, CHAPTERS_ARE_THERE ? [403] : [404, 403]);
  return JSON.stringify({ sound, chapters: JSON.parse(chapters) });
}

serve(import.meta.url, handler);
