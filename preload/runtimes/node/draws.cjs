
// --- random numbers ----------------------------------------------------------------------------------

// Stands behind helper.cjs in one script, which calls it where random numbers are recorded, or given back (rpc/draws.h). What
// JavaScript draws comes from generators of the process (V8's, and that of the OpenSSL that is a part of Node), so it is seen here alone.
// The bytes of a draw are those that the program gets; of Math.random the double, of randomInt the distance from the least
// number, of randomUUID its letters. Not reached: Math.random of other contexts (vm), keys, primes and signatures.
function followDraws({ library, contextNow, siteNow, replace, quietly }) {
  const crypto = require('crypto');
  const { Buffer } = require('buffer');
  const nextTick = process.nextTick;
  const MOST_BYTES = 4096;  // core/protocol/draws.h
  const DOUBLE = 8, INTEGER = 6, UUID = 36;

  // Who draws now; undefined: nobody looks.
  const drawNow = () => quietly(() => (library.drawsMatter() ? { context: contextNow(), site: siteNow() } : undefined));
  const give = (who, bytes) => quietly(() => library.draw(who.context, bytes)) === true;
  const keep = (who, bytes) => quietly(() => library.drawn(who.context, who.site, bytes));

  // A function that returns what it draws, or gives it to a callback as its last argument. `form` of its arguments: {size, read, write};
  // undefined: its draws are left alone.
  const drawing = (form, empty) => (original) => function (...rest) {
    const callback = typeof rest.at(-1) === 'function' ? rest.at(-1) : undefined;
    const given = callback === undefined ? rest : rest.slice(0, -1);
    const how = quietly(() => form(given));
    const who = how === undefined ? undefined : drawNow();
    if (who === undefined) return Reflect.apply(original, this, rest);
    const bytes = Buffer.alloc(how.size);
    const value = give(who, bytes) ? how.read(bytes) : undefined;
    if (value !== undefined) {
      if (callback === undefined) return value;
      nextTick(callback, empty, value);
      return undefined;
    }
    const drawn = (made) => quietly(() => keep(who, how.write(made, bytes)));
    if (callback === undefined) {
      const made = Reflect.apply(original, this, rest);
      drawn(made);
      return made;
    }
    return Reflect.apply(original, this, [...given, function (...results) {
      if (!results[0]) drawn(results[1]);
      return Reflect.apply(callback, this, results);
    }]);
  };

  const isSize = (size) => Number.isInteger(size) && size > 0 && size <= MOST_BYTES;

  const random = () => ({
    size: DOUBLE,
    // (What was recorded may be another thing of this size.)
    read: (bytes) => (bytes.readDoubleLE() >= 0 && bytes.readDoubleLE() < 1 ? bytes.readDoubleLE() : undefined),
    write: (made, bytes) => (bytes.writeDoubleLE(made), bytes),
  });
  const randomBytes = ([size]) => (isSize(size) ? { size, read: (bytes) => bytes, write: (made) => made } : undefined);
  const randomInt = ([first, second]) => {
    const [min, max] = second === undefined ? [0, first] : [first, second];
    if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max <= min) return undefined;
    return {
      size: INTEGER,
      read: (bytes) => (bytes.readUIntLE(0, INTEGER) < max - min ? min + bytes.readUIntLE(0, INTEGER) : undefined),
      write: (made, bytes) => (bytes.writeUIntLE(made - min, 0, INTEGER), bytes),
    };
  };
  const randomUUID = () => ({
    size: UUID,
    read: (bytes) => (/^[0-9a-f-]+$/.test(bytes.toString('latin1')) ? bytes.toString('latin1') : undefined),
    write: (made) => Buffer.from(made, 'latin1'),
  });
  // What is filled, as bytes: all of an array, or `size` elements from `offset` on.
  const filling = ([array, offset = 0, size]) => {
    const width = array.BYTES_PER_ELEMENT ?? 1;
    const from = offset * width, length = size === undefined ? array.byteLength - from : size * width;
    if (!Number.isInteger(from) || from < 0 || !isSize(length) || from + length > array.byteLength) return undefined;
    const filled = Buffer.from(array.buffer ?? array, (array.byteOffset ?? 0) + from, length);
    return { size: length, read: (bytes) => (bytes.copy(filled), array), write: () => filled };
  };
  const fillingAll = ([array]) => filling([array]);

  replace(Math, 'random', drawing(random));
  replace(crypto, 'randomBytes', drawing(randomBytes, null));
  replace(crypto, 'pseudoRandomBytes', drawing(randomBytes, null));
  replace(crypto, 'randomFillSync', drawing(filling));
  replace(crypto, 'randomFill', drawing(filling, null));
  replace(crypto, 'randomInt', drawing(randomInt));
  replace(crypto, 'randomUUID', drawing(randomUUID));
  // crypto.getRandomValues and globalThis.crypto lead there.
  const web = crypto.webcrypto && Object.getPrototypeOf(crypto.webcrypto);
  if (web) {
    replace(web, 'getRandomValues', drawing(fillingAll));
    replace(web, 'randomUUID', drawing(randomUUID));
  }
  require('module').syncBuiltinESMExports();
}
