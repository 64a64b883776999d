import { spawn } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './service.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const CONFIG = `export default { test: {
  setupFiles: ['${join(PROJECT, 'test/support/seed.ts')}'],
  isolate: false,
  maxWorkers: 1,
  projects: [{ extends: true, test: { name: 'all', include: ['*.test.ts'] } }],
} };\n`;

/** Fails when it is run for the first time. */
const FAILS_ONCE = `
  import { existsSync, writeFileSync } from 'node:fs';
  const marker = import.meta.filename + '.ran';
  it('fails once', () => {
    if (existsSync(marker)) return;
    writeFileSync(marker, '');
    throw new Error('too busy');
  });
  it('holds', () => {});`;

/** Runs a suite of these files, and returns its closing lines. */
async function closingLines(files: Record<string, string>): Promise<string[]> {
  const root = await temporaryDirectory();
  await symlink(join(PROJECT, 'node_modules'), join(root, 'node_modules'));
  await writeFile(join(root, 'vitest.config.mjs'), CONFIG);
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(root, name), `import { expect, it } from 'vitest';\n${content}`);
  }
  const script = `
    import { runSuite, summarize } from '${join(PROJECT, 'test/support/run-suite.mjs')}';
    const result = await runSuite({ root: ${JSON.stringify(root)}, filters: [] });
    process.stdout.write('\\nclosing lines\\n' + summarize(result).lines.join('\\n'));`;
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
  it('ends with what failed; what failed only under load is unsteady', async () => {
    const lines = await closingLines({
      'one.test.ts': `
        it('breaks', () => { throw new TypeError('the first line\\nthe second ' + '.'.repeat(400)); });
        it('holds', () => {});
        it.skip('waits', () => {});`,
      'once.test.ts': FAILS_ONCE,
      'other.test.ts': FAILS_ONCE.replace('holds', 'holds too'),
      'load.test.ts': `${FAILS_ONCE}\nif (!existsSync(marker)) throw new Error('not loaded');`,
      // The first value of the first run is the only counterexample: other values would not have it.
      'property.test.ts': `
        import fc from 'fast-check';
        import { existsSync, readFileSync, writeFileSync } from 'node:fs';
        const found = import.meta.filename + '.found';
        it('holds for every number', () => {
          fc.assert(fc.property(fc.integer(), (n) => {
            if (!existsSync(found)) writeFileSync(found, String(n));
            expect(String(n)).not.toBe(readFileSync(found, 'utf8'));
          }));
        });`,
    });
    expect(lines).toEqual([
      'not run: waits (npx vitest run one.test.ts)',
      expect.stringMatching(/^random values: MEMORY_TEST_SEED=\d+$/),
      'unsteady: once.test.ts > fails once (failed once under load: Error: too busy)',
      'unsteady: other.test.ts > fails once (failed once under load: Error: too busy)',
      'failed: load.test.ts > the file itself: Error: not loaded',
      expect.stringMatching(
        /^failed: one\.test\.ts > breaks: TypeError: the first line the second \.{200,300}…$/,
      ),
      expect.stringMatching(
        /^failed: property\.test\.ts > holds for every number: Error: Property/,
      ),
      '5 passed, 3 failed',
    ]);
  });

  it('runs nothing again when more files fail than load explains', async () => {
    const names = Array.from({ length: 11 }, (_, n) => `${n}.test.ts`);
    const lines = await closingLines(Object.fromEntries(names.map((name) => [name, FAILS_ONCE])));
    expect(lines.filter((line) => line.startsWith('failed: '))).toHaveLength(11);
    expect(lines.at(-1)).toBe('11 passed, 11 failed');
  });
});
