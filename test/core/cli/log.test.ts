import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startCommand } from '../../support/command.ts';
import { seededRandom } from '../../support/workload.ts';

/** What ends a line, a JSON text or a terminal's patience. */
const PIECES = [
  '\r\n',
  '\n',
  '\r',
  '\u2028',
  '\u0085',
  '"}',
  '{"level":"error"',
  '\u001b[2J',
  '\0',
];
const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 40 : 200;
const FORGED = 'forged-canary';

it('the log is one JSON object a line, whatever a caller sends, and tells nothing of it (T31)', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'memory-log-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const command = await startCommand({ cwd, env: { SERVICE_LOG_LEVEL: 'debug' } });
  onTestFinished(() => void command.stop('SIGKILL'));
  const random = seededRandom(1);
  const pick = () => PIECES[Math.floor(random() * PIECES.length)] as string;
  for (let run = 0; run < RUNS; run += 1) {
    const text = `${pick()}${FORGED}${pick()}${pick()}`;
    const escaped = encodeURIComponent(text);
    await Promise.all([
      fetch(`${command.url}/v1/admin/files/${escaped}`, {
        headers: { 'x-admin-secret': command.adminSecret, 'user-agent': escaped },
      }),
      fetch(`${command.url}/${escaped}?${escaped}=${escaped}`, {
        headers: { traceparent: escaped },
      }),
      fetch(`${command.url}/v1/tools/${escaped}/execute`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${command.apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': escaped,
        },
        body: JSON.stringify({
          context: { userId: text, actor: text, toolCallId: text },
          arguments: { path: text, content: text, [text]: text },
        }),
      }),
      fetch(`${command.url}/v1/tools/memory_write/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${command.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          context: { userId: 'alice', actor: text, toolCallId: text },
          arguments: { path: 'user/a.md', content: text, reason: text },
        }),
      }),
    ]);
  }
  const { code, stderr } = await command.stop();
  expect(code).toBe(0);
  const lines = stderr.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
  }
  expect(stderr).not.toContain(FORGED);
});
