import { code, page, prose, table } from './markdown.mjs';

/**
 * @param {Readonly<Record<string, import('../../core/errors.ts').ErrorCodeEntry>>} codes
 */
export function renderErrors(codes) {
  const entries = Object.entries(codes);
  const statuses = [...new Set(entries.map(([, { status }]) => status))].sort((a, b) => a - b);
  return page('Errors', 'core/errors.ts', [
    'Every answer that is not 2xx has one body, `{ "error": { … } }`, with `code`, `message`, ' +
      '`retryable`, and where they are known `details`, `traceId` and `toolCallId`. In process the ' +
      'same is thrown as a `MemoryError`. A code is never renamed; a message may be worded better ' +
      'some day, so decide by the code. `retryable` says that the same request may succeed later.',
    table(
      ['status', 'codes'],
      statuses.map((status) => [
        String(status),
        entries
          .filter(([, entry]) => entry.status === status)
          .map(([name]) => `[${code(name)}](#${name.toLowerCase()})`)
          .join(', '),
      ]),
    ),
    'With `If-Match` or `If-None-Match`, `VERSION_CONFLICT` is a 412.',
    ...entries.flatMap(([name, { status, retryable, message, action }]) => [
      `## ${name}`,
      `Status ${status}, ${retryable ? 'retryable' : 'not retryable'}. ${message}`,
      prose(action),
    ]),
  ]);
}
