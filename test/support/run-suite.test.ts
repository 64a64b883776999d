import { spawn } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './service.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const CONFIG = `export default { test: {
  projects: [{ extends: true, test: { name: 'all', include: ['*.test.ts'] } }],
} };\n`;

/** Runs a suite of these files, and returns its closing lines. */
async function closingLines(files: Record<string, string>): Promise<string[]> {
  const root = await temporaryDirectory();
  await symlink(join(PROJECT, 'node_modules'), join(root, 'node_modules'));
  await writeFile(join(root, 'vitest.config.mjs'), CONFIG);
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(root, name), `import { expect, it } from 'vitest';\n${content}`);
  }
  const script = `
    import { runSuite, toClosingLines } from '${join(PROJECT, 'test/support/run-suite.mjs')}';
    const result = await runSuite({ root: ${JSON.stringify(root)}, filters: [] });
    process.stdout.write('\\nclosing lines\\n' + toClosingLines(result).join('\\n'));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [, lines] = output.split('closing lines\n');
  if (lines === undefined) throw new Error(`The run did not end: ${output}${errors}`);
  return lines.split('\n');
}

describe('the run of the tests', () => {
  it('ends with each failure, its beginning on one line, and the counts', async () => {
    const lines = await closingLines({
      'one.test.ts': `
        it('holds', () => {});
        it('breaks', () => { throw new TypeError('the first line\\nthe second ' + '.'.repeat(400)); });
        it.skip('waits', () => {});`,
      'two.test.ts': `throw new Error('not even loaded');`,
    });
    expect(lines).toEqual([
      'not run: waits (npx vitest run one.test.ts)',
      expect.stringMatching(
        /^failed: one\.test\.ts > breaks: TypeError: the first line the second \.{200,300}…$/,
      ),
      'failed: two.test.ts > the file itself: Error: not even loaded',
      '1 passed, 2 failed',
    ]);
  });
});
