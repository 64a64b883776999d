import type { SpanAttributes } from '../contracts/records.ts';
import { takeStart } from '../encoding/take-text.ts';

/**
 * The attributes that an event may carry: counts, sizes, versions, model names and token counts.
 * All others are dropped, except `reason`, which the tracer derives from an error itself. A caller's
 * `reason` attribute would be user text.
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
  'failed',
  'files',
  'fuzzy',
  'hits',
  'inputTokens',
  'lines',
  'malformed',
  'outputTokens',
  'passages',
  'passed',
  'queued',
  'replacements',
  'replayed',
  'results',
  'revisions',
  'rows',
  'size',
  'terms',
  'turnedGreen',
  'turnedRed',
  'unchanged',
  'vectors',
  'version',
  'writes',
]);

/** Attributes that may be text: names from the service or its configuration, never user text. */
const NAMES = new Set(['degraded', 'mode', 'model', 'outcome', 'provider', 'state']);

/** In UTF-16 units. */
const TEXT_LIMIT = 100;

/**
 * Keeps allowed attributes: finite numbers, booleans, and for `NAMES` texts cut to 100 characters.
 * Never throws.
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

/** Reads an attribute of a plugin's object, whose getter may throw: a trace must not fail a call. */
function read(attributes: SpanAttributes, key: string): unknown {
  try {
    return attributes[key];
  } catch {
    return null;
  }
}

function cut(text: string): string {
  return takeStart(text, TEXT_LIMIT);
}
