import { code, page, table } from './markdown.mjs';
import { describeMembers } from './schema.mjs';

/**
 * @param {typeof import('../../core/schemas/events.ts')} events
 */
export function renderEvents({ AdminEvent, SPAN_KINDS }) {
  return page('Observation events', 'core/schemas/events.ts', [
    'What events are for and how long they are kept: [Tracing](../concepts/tracing.md). The root ' +
      'of a call and its spans have the same fields; a span names its parent in `parentSpanId`.',
    describeMembers(AdminEvent, { required: false }) ?? '',
    '## Kinds',
    table(
      ['kind', 'what it is'],
      Object.entries(SPAN_KINDS).map(([kind, meaning]) => [code(kind), meaning]),
    ),
    'A root that goes on with a trace of the caller (`traceparent`) has the caller’s span as its ' +
      'parent. A dream run has a trace of its own, and its id stands in `toolCallId`.',
  ]);
}
