import { code, page, table } from './markdown.mjs';
import { describeMembers } from './schema.mjs';

/** What each kind stands for. A kind without words here fails the generator. */
const KINDS = {
  tool: 'The root of a tool call.',
  'db.read': 'Reading from the database; in a write, locking and reading what it is decided on.',
  'db.write': 'Applying a write and committing it.',
  'search.bm25': 'Full-text search.',
  'search.vector': 'Vector search.',
  'search.hybrid': 'Bringing the two together.',
  embedding: 'A call of the embedder.',
  llm: 'A call of the model.',
  'revision.write': 'Making up the revision of a write.',
  'access_log.write': 'Making up or queueing access rows.',
  'dream.run':
    'The root of a dream run, or of what was done with one: dream.apply, dream.revert, dream.recover.',
  'dream.check': 'Checking what the model proposed.',
};

/**
 * @param {object} eventSchema
 */
export function renderEvents(eventSchema) {
  const schema = /** @type {import('./schema.mjs').Schema} */ (eventSchema);
  const kinds = /** @type {string[]} */ (schema.properties?.['kind']?.enum ?? []);
  const words = /** @type {Record<string, string>} */ (KINDS);
  return page('Observation events', 'core/http/routes/traces.ts', [
    'What events are for and how long they are kept: [Tracing](../concepts/tracing.md). The root ' +
      'of a call and its spans have the same fields; a span names its parent in `parentSpanId`.',
    describeMembers(eventSchema, { required: false }) ?? '',
    '## Kinds',
    table(
      ['kind', 'what it is'],
      kinds.map((kind) => {
        const meaning = words[kind];
        if (meaning === undefined) throw new Error(`docs/generator/events.mjs: what is ${kind}?`);
        return [code(kind), meaning];
      }),
    ),
    'A root that goes on with a trace of the caller (`traceparent`) has the caller’s span as its ' +
      'parent. A dream run has a trace of its own, and its id stands in `toolCallId`.',
  ]);
}
