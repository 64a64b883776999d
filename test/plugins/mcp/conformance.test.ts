import { execFile, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryService } from '../../../core/index.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { API_KEY } from '../../core/http/serve.ts';

/** The suite of the protocol's own project, on the Node that it needs. It is downloaded the first time. */
const suiteOf = (version: string) => [
  ...['exec', '--yes', `--package=@modelcontextprotocol/conformance@${version}`],
  ...['--package=node@22', '--', 'conformance'],
];
const SUITE = suiteOf('0.1.16');
/** What the protocol of 2026-07-28 required at its release. */
const MODERN_SUITE = suiteOf('0.2.0-alpha.12');
const MODERN = ['--requirements', '2026-07-28'];

const OWN_TOOL = 'calls a tool of the suite’s own example server, which a memory does not have';
const OWN_RESOURCE = 'reads a resource of the suite’s own example server';
const OWN_PROMPT = 'gets a prompt of the suite’s own example server';
const NO_STREAM = 'needs a stream that stays open: docs/decisions/mcp-without-sessions.md';

/** Scenarios that a memory over HTTP cannot pass, and why. The others have to. */
const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  'logging-set-level': 'logs are the operator’s, not the client’s',
  'tools-call-image': OWN_TOOL,
  'tools-call-audio': OWN_TOOL,
  'tools-call-embedded-resource': OWN_TOOL,
  'tools-call-mixed-content': OWN_TOOL,
  'json-schema-2020-12': OWN_TOOL,
  'tools-call-with-logging': NO_STREAM,
  'tools-call-with-progress': NO_STREAM,
  'tools-call-sampling': NO_STREAM,
  'tools-call-elicitation': NO_STREAM,
  'elicitation-sep1034-defaults': NO_STREAM,
  'elicitation-sep1330-enums': NO_STREAM,
  'resources-subscribe': NO_STREAM,
  'resources-unsubscribe': NO_STREAM,
  'resources-read-text': OWN_RESOURCE,
  'resources-read-binary': OWN_RESOURCE,
  'resources-templates-read': OWN_RESOURCE,
  'prompts-get-simple': OWN_PROMPT,
  'prompts-get-with-args': OWN_PROMPT,
  'prompts-get-embedded-resource': OWN_PROMPT,
  'prompts-get-with-image': OWN_PROMPT,
};

it('passes every scenario of the MCP conformance suite that applies', async ({ skip }) => {
  const command = `npm ${SUITE.join(' ')} list --server`;
  if (process.env['MEMORY_TEST_RELEASE'] === undefined) skip('npm run test:release');
  if (spawnSync('npm', [...SUITE, 'list', '--server']).status !== 0) skip(command);
  const url = await serveSignedIn();
  const results = await runSuite(url, [...SUITE, 'server', '--suite', 'all']);
  expect(results.size).toBeGreaterThan(Object.keys(NOT_APPLICABLE).length);
  expect(failedOf(results)).toEqual(Object.keys(NOT_APPLICABLE).toSorted());
});

/** The same for what MCP of 2026-07-28 requires. */
const NOT_IN_MODERN: Readonly<Record<string, string>> = {
  'server-stateless': 'two of its checks call a tool of the suite’s own example server',
  'tools-call-image': OWN_TOOL,
  'tools-call-audio': OWN_TOOL,
  'tools-call-embedded-resource': OWN_TOOL,
  'tools-call-mixed-content': OWN_TOOL,
  'tools-call-with-progress': OWN_TOOL,
  'resources-read-text': OWN_RESOURCE,
  'resources-read-binary': OWN_RESOURCE,
  'resources-templates-read': OWN_RESOURCE,
  'prompts-get-simple': OWN_PROMPT,
  'prompts-get-with-args': OWN_PROMPT,
  'prompts-get-embedded-resource': OWN_PROMPT,
  'prompts-get-with-image': OWN_PROMPT,
  'input-required-result-basic-elicitation': OWN_TOOL,
  'input-required-result-basic-sampling': OWN_TOOL,
  'input-required-result-basic-list-roots': OWN_TOOL,
  'input-required-result-request-state': OWN_TOOL,
  'input-required-result-multiple-input-requests': OWN_TOOL,
  'input-required-result-multi-round': OWN_TOOL,
  'input-required-result-non-tool-request': OWN_PROMPT,
  'input-required-result-result-type': OWN_TOOL,
  'input-required-result-tampered-state': OWN_TOOL,
  'input-required-result-capability-check': OWN_TOOL,
};

it('passes every scenario that MCP of 2026-07-28 requires and that applies', async ({ skip }) => {
  const list = [...MODERN_SUITE, 'list', ...MODERN];
  if (process.env['MEMORY_TEST_RELEASE'] === undefined) skip('npm run test:release');
  if (spawnSync('npm', list).status !== 0) skip(`npm ${list.join(' ')}`);
  const url = await serveSignedIn();
  const results = await runSuite(url, [...MODERN_SUITE, 'server', ...MODERN]);
  expect(results.size).toBeGreaterThan(Object.keys(NOT_IN_MODERN).length);
  expect(failedOf(results)).toEqual(Object.keys(NOT_IN_MODERN).toSorted());
  expect(results.get('server-stateless')).toBe(2);
});

function failedOf(results: ReadonlyMap<string, number>): string[] {
  const failed = [...results].filter(([, checks]) => checks > 0).map(([name]) => name);
  return failed.toSorted();
}

/** The suite sends no headers of its own, so an app in front of the service signs its client in. */
async function serveSignedIn(): Promise<string> {
  const storage = sqlite({ filename: ':memory:' });
  // The command checks the hosts by default; a service that is mounted leaves it to its app.
  const allowedHosts = ['127.0.0.1', 'localhost'];
  const config = { storage, apiKey: API_KEY, allowedHosts, plugins: [mcp()] };
  const service = createMemoryService(config);
  await service.start();
  const handle = service.callback();
  const server = createServer((request, response) => {
    request.headers['authorization'] = `Bearer ${API_KEY}`;
    request.headers['x-user-id'] = 'alice';
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/mcp`;
}

/** How many checks of each scenario failed. The suite ends with an error code when one did. */
async function runSuite(url: string, suite: readonly string[]): Promise<Map<string, number>> {
  const options = { maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)('npm', [...suite, '--url', url], options).catch(
    (error: unknown) => error as { stdout: string },
  );
  const summary = stdout.slice(stdout.indexOf('=== SUMMARY ==='));
  const lines = [...summary.matchAll(/^[✓✗] ([\w-]+): \d+ passed, (\d+) failed$/gm)];
  const results = new Map(lines.map(([, name = '', failed]) => [name, Number(failed)]));
  // Extensions, and what the suite cannot pass itself.
  for (const [, name = ''] of summary.matchAll(/^ {2}[✓✗] ([\w-]+) \(/gm)) results.delete(name);
  return results;
}
