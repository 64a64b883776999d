// What `npm run test:python -- schemathesis` runs: cases that schemathesis makes from our OpenAPI document, against a
// running service. It fails on each finding that ACCEPTED does not explain.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Findings that are right as they are. ST101 is an answer of 5xx, ST201 an accepted request that the schema forbids,
 * ST202 a refused request that it allows, ST205 an `Allow` header with other methods.
 *
 * @type {readonly { check: string, operation: RegExp, answer: RegExp, why: string }[]}
 */
const ACCEPTED = [
  {
    check: 'ST202',
    operation: /./,
    answer: /"code":"INVALID_(?:PATH|USER_ID|CURSOR|CONTENT)"/,
    why: 'The grammar of paths and cursors is stricter than a pattern can say.',
  },
  {
    check: 'ST202',
    operation: /./,
    answer: /is before startLine|needs format=|A patch needs edits, append or both/,
    why: 'A rule about two fields.',
  },
  {
    check: 'ST202',
    operation: /\/v1\/tools\/memory_\w+\/execute/,
    answer: /^\[422\]/m,
    why: 'It depends on what is in memory, as the text that a patch replaces. 422 is described.',
  },
  {
    check: 'ST202',
    operation:
      /\/v1\/admin\/(?:revert|revisions\/prune|observability|access-logs|dream|diff|files)/,
    answer: /"code":"INVALID_REQUEST"/,
    why: 'A rule about several fields: either runId, toolCallId or actor; since before until; at with userId.',
  },
  {
    check: 'ST202',
    operation: /\/v1\/(?:tools|admin\/playground)\/\{name\}/,
    answer: /"code":"INVALID_REQUEST"/,
    why: 'The arguments depend on the tool; each tool has an operation of its own.',
  },
  {
    check: 'ST202',
    operation: /\/v1\/tools\/memory_\w+\/execute/,
    answer: /time zone|\/timeZone|\/actor/,
    why: 'A time zone must exist, and some actors are reserved.',
  },
  {
    check: 'ST202',
    operation: /\/v1\/mcp/,
    answer: /"jsonrpc":"2\.0"/,
    why: 'The Model Context Protocol defines the body.',
  },
  {
    check: 'ST202',
    operation: /\/v1\/admin\/reembed/,
    answer: /No embedder is configured/,
    why: 'It depends on the configuration.',
  },
  {
    check: 'ST202',
    operation: /\/v1\/admin\/users\/\{userId\}\/erase/,
    answer: /confirm must be the user id again/,
    why: 'A rule about the path and the body.',
  },
  {
    check: 'ST101',
    operation: /./,
    answer: /"code":"(?:MODEL_NOT_CONFIGURED|MEMORY_HELD)"/,
    why: 'It is described: 503 without a model, and while an erasure or a restore holds the memory.',
  },
  {
    check: 'ST201',
    operation: /./,
    answer: /The headers are too large/,
    why: '431 is a refusal, which schemathesis does not count as one.',
  },
  {
    check: 'ST201',
    operation: /\/v1\/tools\/memory_list\/execute/,
    answer: /"result":/,
    why: 'arguments: null is the same as absent, as each optional argument.',
  },
  {
    check: 'ST205',
    operation: /\/v1\/admin\/revisions\/prune/,
    answer: /./s,
    why: 'GET is of /v1/admin/revisions/{id}, which has the same form.',
  },
];

/**
 * Runs schemathesis and returns the findings that nothing explains, each as a text.
 *
 * @param {string} python of an environment with schemathesis
 * @param {{ url: string, apiKey: string, adminSecret: string, cwd: string }} service
 */
export async function findMistakes(python, { url, apiKey, adminSecret, cwd }) {
  const args = [
    ...['-c', 'from schemathesis.cli import schemathesis; schemathesis()', 'run'],
    `${url}/v1/openapi.json`,
    ...['-H', `Authorization: Bearer ${apiKey}`, '-H', `x-admin-secret: ${adminSecret}`],
    // Event streams never end; archives have tests of their own.
    ...['--exclude-path-regex', 'stream|export|import|backup'],
    ...['--max-examples', '75', '--seed', '7', '--workers', '2', '--request-timeout', '20'],
    ...['--continue-on-failure', '--no-color'],
  ];
  const run = promisify(execFile)(python, args, { cwd, maxBuffer: 1e9 });
  const { stdout } = await run.catch((/** @type {any} */ error) => error);
  const cases = Number(/(\d+) generated/.exec(stdout)?.[1] ?? 0);
  const findings = parseFindings(stdout);
  const mistakes = findings.filter(
    ({ check, operation, text }) =>
      !ACCEPTED.some(
        (one) => one.check === check && one.operation.test(operation) && one.answer.test(text),
      ),
  );
  return { cases, findings, mistakes };
}

/**
 * The findings in the report: each is below the operation and begins with the number of its check.
 *
 * @param {string} report
 */
function parseFindings(report) {
  const sections = report.split(/^_+ ((?:[A-Z]+) \/\S*) _+$/m);
  return sections.flatMap((section, at) => {
    if (at % 2 === 0) return [];
    const [body = ''] = (sections[at + 1] ?? '').split(/^=+ [A-Z]/m);
    return body
      .split(/^- (?=ST\d+ )/m)
      .slice(1)
      .map((text) => ({ operation: section, check: text.slice(0, 5), text }));
  });
}
