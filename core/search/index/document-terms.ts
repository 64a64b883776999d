import { damaged } from './index-damage.ts';

const COUNT_BYTES = 4;
const HASH_BYTES = 8;
const SEPARATOR = '\n';

/**
 * Packs what the index must know of a file to change it later: its terms, each with a hash of its
 * postings, so that terms whose postings stay the same are not written again.
 *
 * Layout: the number of terms (uint32), a hash of 64 bits for each, then the terms in UTF-8, joined
 * by line ends, which no term has.
 */
export function packTerms(payloads: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const head = Buffer.allocUnsafe(COUNT_BYTES + payloads.size * HASH_BYTES);
  head.writeUInt32BE(payloads.size, 0);
  let at = COUNT_BYTES;
  for (const payload of payloads.values()) {
    const [high, low] = hashBytes(payload);
    head.writeUInt32BE(high, at);
    head.writeUInt32BE(low, at + 4);
    at += HASH_BYTES;
  }
  return Buffer.concat([head, Buffer.from([...payloads.keys()].join(SEPARATOR))]);
}

/**
 * The terms of {@link packTerms}, each with its hash.
 *
 * @throws MemoryError `INTERNAL` with `details.reason: 'index_damaged'`.
 */
export function unpackTerms(packed: Uint8Array): Map<string, bigint> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  if (bytes.length < COUNT_BYTES) throw damaged();
  const count = bytes.readUInt32BE(0);
  const textAt = COUNT_BYTES + count * HASH_BYTES;
  if (textAt > bytes.length) throw damaged();
  const hashes = new Map<string, bigint>();
  if (count === 0) return hashes;
  const terms = bytes.toString('utf8', textAt).split(SEPARATOR);
  if (terms.length !== count) throw damaged();
  terms.forEach((term, index) => {
    hashes.set(term, bytes.readBigUInt64BE(COUNT_BYTES + index * HASH_BYTES));
  });
  return hashes;
}

/** Two FNV-1a hashes of 32 bits from different offsets, the second over the bytes turned. */
function hashBytes(bytes: Uint8Array): [number, number] {
  let high = 0x811c9dc5;
  let low = 0x050c5d1f;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    high = Math.imul(high ^ byte, 0x01000193);
    low = Math.imul(low ^ (byte + at), 0x01000193);
  }
  return [high >>> 0, low >>> 0];
}
