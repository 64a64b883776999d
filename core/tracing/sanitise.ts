import type { SpanAttributes } from '../contracts/records.ts';

/**
 * The attributes that an event may carry, in the one place where they are let through: counts,
 * sizes, versions, model names and token counts. What is not named here is not recorded.
 */
const ALLOWED = new Set([
  'bytes',
  'candidates',
  'created',
  'degraded',
  'dimensions',
  'edits',
  'files',
  'hits',
  'inputTokens',
  'lines',
  'mode',
  'model',
  'outputTokens',
  'passages',
  'provider',
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

const TEXT_LIMIT = 100;

/** Keeps allowed attributes with short, finite values. Never throws. */
export function sanitiseAttributes(attributes: SpanAttributes | undefined): SpanAttributes {
  const kept: SpanAttributes = {};
  if (attributes === undefined) return kept;
  for (const key in attributes) {
    if (!ALLOWED.has(key)) continue;
    const value = attributes[key];
    if (typeof value === 'string') kept[key] = value.slice(0, TEXT_LIMIT);
    else if (typeof value === 'boolean' || Number.isFinite(value)) kept[key] = value as number;
  }
  return kept;
}
