import { MemoryError } from '../../errors.ts';

const HEX_ID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;
const HEX_HASH = /^[0-9a-f]{64}$/;

/**
 * Checks an id to store: a UUID, or the 32 hex digits of a trace id. Throws `INTERNAL` for any
 * other text, which would be stored as something else.
 */
export function checkId(id: string): string {
  if (!HEX_ID.test(id)) throw new MemoryError('INTERNAL', 'An id is not 16 bytes of hex digits.');
  return id;
}

/** The 32 hex digits of an id to store; throws like {@link checkId}. */
export function toIdHex(id: string): string {
  return checkId(id).replaceAll('-', '');
}

/** The 64 hex digits of a hash to store; throws `INTERNAL` for other text. */
export function toHashHex(hash: string): string {
  if (!HEX_HASH.test(hash)) {
    throw new MemoryError('INTERNAL', 'A hash is not 32 bytes of hex digits.');
  }
  return hash;
}

/** The bytes of a requested id; `null` if it can't be one, so that nothing matches. */
export function parseIdBytes(id: string): Buffer | null {
  return HEX_ID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : null;
}

/** The UUID of 16 bytes, or of their hex digits. */
export function toUuid(id: Uint8Array | string): string {
  const hex = typeof id === 'string' ? id.toLowerCase() : toHex(id);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function toHex(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = bytes;
  const view = Buffer.isBuffer(bytes) ? bytes : Buffer.from(buffer, byteOffset, byteLength);
  return view.toString('hex');
}

/** The smallest id of a millisecond, as bytes for comparison. */
export function toLeastIdBytes(ms: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.min(Math.max(Math.trunc(ms), 0), 2 ** 48 - 1), 0, 6);
  return bytes;
}
