/** The millisecond that an id was made of: the first 48 bits of a UUIDv7. */
export function toIdMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
