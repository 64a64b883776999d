/** Reads a byte-exact text column, which some databases return as bytes. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('utf8');
}

export function toTextOrNull(value: unknown): string | null {
  return value === null ? null : toText(value);
}

/** Reads an integer column; some drivers return large ones as text or as a BigInt. */
export function toInteger(value: unknown): number {
  return typeof value === 'number' ? value : Number(value);
}

export function toIntegerOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : toInteger(value);
}
