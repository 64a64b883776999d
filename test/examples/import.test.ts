import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { PROGRESS } from '../core/cli/maintenance.ts';
import { runCommand, startCommand } from '../support/command.ts';
import { temporaryDirectory } from '../support/service.ts';
import { root } from './run-example.ts';

const EXAMPLES = path.join(root, 'examples/import');

/** The commands of the guide, and the file that each of them makes. */
const IMPORTS = [
  ['mem0.md', 'memories/2026-01.md', ['mem0.json']],
  ['letta.md', 'profile.md', ['agent.af', '--user=alice']],
  ['server-memory.md', 'knowledge/person/John-Smith.md', ['memory.jsonl', '--user=alice']],
  ['basic-memory.md', 'coffee.md', ['basic-memory', '--from=basic-memory', '--user=alice']],
] as const;

it.each(['a server that runs', 'no server'])(
  'imports the examples of other programs with %s, as the guide shows it',
  async (how) => {
    const cwd = await temporaryDirectory();
    await cp(EXAMPLES, cwd, { recursive: true });
    const server = how === 'no server' ? null : await startCommand({ cwd });
    const guide = await readFile(path.join(root, 'docs/guides/export-import.md'), 'utf8');
    let first = '';
    for (const [, , args] of IMPORTS) {
      expect(guide).toContain(`memory-service import ${args.join(' ')}\n`);
      const dry = await runCommand({ cwd, args: ['import', ...args, '--dry-run'] });
      expect([dry.code, dry.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
      const { code, stdout, stderr } = await runCommand({ cwd, args: ['import', ...args] });
      expect([code, stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
      first ||= stdout;
      expect(stdout).toMatch(
        /^Imported [1-9][^]*Of (\d) items of [\w-]+, \1 are in these files; 0 /,
      );
    }
    await server?.stop();
    const readme = await readFile(path.join(EXAMPLES, 'README.md'), 'utf8');
    expect(readme).toContain(`\`\`\`text\n${first}\`\`\`\n`);
    const out = await runCommand({ cwd, args: ['export', 'out', '--user=alice'] });
    expect([out.code, out.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
    for (const [after, file] of IMPORTS) {
      const expected = await readFile(path.join(EXAMPLES, 'after', after), 'utf8');
      expect(await readFile(path.join(cwd, 'out', file), 'utf8')).toBe(expected);
    }
  },
);

it('refuses what does not fit, and says what to do', async () => {
  const cwd = await temporaryDirectory();
  await cp(EXAMPLES, cwd, { recursive: true });
  const refusal = async (...args: string[]) => {
    const { code, stderr } = await runCommand({ cwd, args: ['import', ...args] });
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refusal('mem0.json', '--from=zep')).toMatch(
    '--from is one of archive, markdown, mem0',
  );
  expect(await refusal('basic-memory', '--from=mem0')).toMatch(/mem0 is a file, and .* is not/);
  expect(await refusal('mem0.json', '--from=markdown')).toMatch(/markdown is a folder, and/);
  expect(await refusal('basic-memory', '--from=basic-memory')).toMatch('give --user');
  const skipped = await refusal('memory.jsonl');
  expect(skipped).toMatch('skipped line 1: It does not say whose');
});
