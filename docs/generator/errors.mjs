import { code, page, prose, table } from './markdown.mjs';

/**
 * @param {Readonly<Record<string, import('../../core/errors.ts').ErrorCodeEntry>>} codes
 */
export function renderErrors(codes) {
  const entries = Object.entries(codes);
  const statuses = [...new Set(entries.map(([, { status }]) => status))].sort((a, b) => a - b);
  return page('Errors', 'core/errors.ts', [
    'Every answer that is not 2xx has one body, `{ "error": { … } }`, with `code`, `message`, ' +
      '`retryable`, `action` (what to do), and where they are known `details`, `traceId` and `toolCallId`. In process the ' +
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
    ...entries.flatMap(([name, { status, retryable, message, action, actions }]) => [
      `## ${name}`,
      `Status ${status}, ${retryable ? 'retryable' : 'not retryable'}. ${message}`,
      prose(action),
      ...Object.entries(actions ?? {}).map(
        ([situation, sentence]) => `${whenOf(situation)}: ${prose(sentence)}`,
      ),
    ]),
  ]);
}

/** @type {Readonly<Record<string, string>>} */
const SITUATIONS = {
  admin: 'In the admin API',
  tools: 'In the tools API',
  signedIn: 'In an app that signs its users in',
  other: 'Without `details.issues`',
  body: 'Of a request body',
  archive: 'Of an archive',
  streamed: 'Of a body that is read as a stream',
  encoding: 'Of a body with another encoding',
  noBody: 'Without a body',
  wrongSecrets: 'After too many wrong secrets',
  streams: 'With too many live streams',
  maxFilesPerUser: 'With `maxFilesPerUser` in `details.limit`',
};

/** @param {string} situation */
function whenOf(situation) {
  return SITUATIONS[situation] ?? `With ${code(situation)} in \`details\``;
}
