// Lists by keyset: a page starts after the last key of the previous page.

import { MemoryError } from 'memory-service/plugin';

/** @import { PageRequest, PageResult } from 'memory-service/plugin' */

/** @typedef {readonly (string | number)[]} Key */

const SURROGATE = /[\ud800-\udfff]/;

// #region page
/**
 * One page of `rows`. The page key of a caller must have the shape of `shape`.
 *
 * @template T
 * @param {Iterable<T>} rows
 * @param {PageRequest} page
 * @param {(row: T) => Key} toKey
 * @param {readonly ('string' | 'number' | 'id')[]} shape
 * @returns {PageResult<T>}
 */
export function paginate(rows, { after, limit, order }, toKey, shape) {
  if (after !== null) checkKey(after, shape);
  const sign = order === 'asc' ? 1 : -1;
  const rest = [...rows]
    .map((row) => ({ row, key: toKey(row) }))
    .filter(({ key }) => after === null || sign * compareKeys(key, after) > 0)
    .sort((left, right) => sign * compareKeys(left.key, right.key));
  const items = rest.slice(0, limit);
  return {
    items: items.map(({ row }) => row),
    next: rest.length > limit ? (items.at(-1)?.key ?? null) : null,
  };
}
// #endregion

/**
 * Compares UTF-8 bytes. JavaScript's own order differs beyond the first 65,536 characters.
 *
 * @param {string | number} left
 * @param {string | number} right
 */
export function compare(left, right) {
  if (typeof left === 'number' || typeof right === 'number') return Number(left) - Number(right);
  if (left === right) return 0;
  if (SURROGATE.test(left) || SURROGATE.test(right)) {
    return Buffer.compare(Buffer.from(left), Buffer.from(right));
  }
  return left < right ? -1 : 1;
}

/**
 * Whether a row matches a filter; `null` and absent values match everything.
 *
 * @param {Record<string, any>} row
 * @param {Record<string, any>} filter
 * @param {readonly string[]} names
 */
export function hasAll(row, filter, names) {
  return names.every((name) => (filter[name] ?? null) === null || row[name] === filter[name]);
}

/**
 * @param {number} at
 * @param {{ since?: number | null | undefined, until?: number | null | undefined }} range
 */
export function isWithin(at, { since, until }) {
  return at >= (since ?? -Infinity) && at < (until ?? Infinity);
}

/**
 * Whether `text` contains `part`, ignoring ASCII case.
 *
 * @param {string} text
 * @param {string | null | undefined} part
 */
export function contains(text, part) {
  return toLower(text).includes(toLower(part ?? ''));
}

/** @param {string} text */
function toLower(text) {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * @param {Key} left
 * @param {Key} right
 */
function compareKeys(left, right) {
  for (const [place, value] of left.entries()) {
    const order = compare(value, right[place] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}

/**
 * @param {unknown} after
 * @param {readonly ('string' | 'number' | 'id')[]} shape
 */
function checkKey(after, shape) {
  const isKey =
    Array.isArray(after) &&
    after.length === shape.length &&
    after.every((value, place) =>
      shape[place] === 'id' ? isId(value) : typeof value === shape[place],
    );
  if (!isKey) throw new MemoryError('INVALID_CURSOR');
}

/** @param {unknown} value */
function isId(value) {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
