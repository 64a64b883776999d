/* eslint texts/take: off -- Parts are compared and not kept. */

/** UTF-16 units per comparison: `===` on slices is several times faster than a loop over units. */
const COMPARED_UNITS = 256;

/** Counts the UTF-16 units, up to `limit`, that two texts share after an offset in each. */
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

/** Counts the UTF-16 units, up to `limit`, that two texts share before an offset in each. */
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
