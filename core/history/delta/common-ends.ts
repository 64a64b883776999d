/** Units compared at once: `===` on slices of this length is several times faster than a loop. */
const COMPARED_UNITS = 256;

/** UTF-16 units, `limit` at most, that two texts share from an offset of each on. */
export function commonPrefix(
  first: string,
  firstFrom: number,
  second: string,
  secondFrom: number,
  limit: number,
): number {
  let length = 0;
  while (
    length + COMPARED_UNITS <= limit &&
    first.slice(firstFrom + length, firstFrom + length + COMPARED_UNITS) ===
      second.slice(secondFrom + length, secondFrom + length + COMPARED_UNITS)
  ) {
    length += COMPARED_UNITS;
  }
  while (
    length < limit &&
    first.charCodeAt(firstFrom + length) === second.charCodeAt(secondFrom + length)
  ) {
    length++;
  }
  return length;
}

/** UTF-16 units, `limit` at most, that two texts share before an offset of each. */
export function commonSuffix(
  first: string,
  firstTo: number,
  second: string,
  secondTo: number,
  limit: number,
): number {
  let length = 0;
  while (
    length + COMPARED_UNITS <= limit &&
    first.slice(firstTo - length - COMPARED_UNITS, firstTo - length) ===
      second.slice(secondTo - length - COMPARED_UNITS, secondTo - length)
  ) {
    length += COMPARED_UNITS;
  }
  while (
    length < limit &&
    first.charCodeAt(firstTo - length - 1) === second.charCodeAt(secondTo - length - 1)
  ) {
    length++;
  }
  return length;
}
