import type { SpanAttributes } from '../contracts/records.ts';

/**
 * The attributes that an event may carry, in the one place where they are let through: counts,
 * sizes, versions, model names and token counts. What is not named here is not recorded, but for
 * `reason`, which the tracer makes of an error itself: as an argument, it is words of a caller's.
 */
const COUNTS_AND_FLAGS = new Set([
  'applied',
  'behind',
  'bytes',
  'candidates',
  'created',
  'dimensions',
  'dropped',
  'edits',
  'files',
  'fuzzy',
  'hits',
  'inputTokens',
  'lines',
  'malformed',
  'outputTokens',
  'passages',
  'queued',
  'replacements',
  'replayed',
  'results',
  'revisions',
  'rows',
  'size',
  'terms',
  'unchanged',
  'vectors',
  'version',
  'writes',
]);

/** Those that may be text, too: names that the service or its configuration gives, no one's words. */
const NAMES = new Set(['degraded', 'mode', 'model', 'outcome', 'provider', 'state']);

/** In UTF-16 units. */
const TEXT_LIMIT = 100;

/**
 * Keeps allowed attributes: finite numbers, booleans, and under the names of names texts of at most
 * 100 characters. Never throws.
 */
export function sanitiseAttributes(attributes: SpanAttributes | undefined): SpanAttributes {
  const kept: SpanAttributes = {};
  for (const key in attributes) {
    const isName = NAMES.has(key);
    if (!isName && !COUNTS_AND_FLAGS.has(key)) continue;
    const value = read(attributes, key);
    if (typeof value === 'boolean') kept[key] = value;
    else if (typeof value === 'number' && Number.isFinite(value)) kept[key] = value;
    else if (isName && typeof value === 'string') kept[key] = cut(value);
  }
  return kept;
}

/** A plugin's object may compute what it shows; a trace is worth no failed call. */
function read(attributes: SpanAttributes, key: string): unknown {
  try {
    return attributes[key];
  } catch {
    return null;
  }
}

function cut(text: string): string {
  return text.slice(0, TEXT_LIMIT).toWellFormed();
}
