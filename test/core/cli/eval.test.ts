import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { filledDatabase } from './maintenance.ts';

const row = (type: string, fields: object) => JSON.stringify({ type, ...fields });
const SET = [
  row('meta', { source: 'made up' }),
  row('doc', { user: 'ann', path: 'garden.md', text: '- Grows roses and herbs.\n' }),
  row('doc', { user: 'ann', path: 'boat.md', text: '- Sails a boat on the lake.\n' }),
  row('query', { user: 'ann', query: 'Which boat?', relevant: ['boat.md'], category: 'easy' }),
  row('query', { user: 'ann', query: 'roses', relevant: ['garden.md'], category: 'easy' }),
  row('query', { user: 'ann', query: 'a yacht', relevant: ['boat.md'], category: 'hard' }),
  row('query', { user: 'ann', query: 'lies', relevant: ['boat.md'], category: 'adversarial' }),
].join('\n');

it('prints recall and nDCG by category, of a set with its own files, beside another configuration', async () => {
  const cwd = await temporaryDirectory();
  await writeFile(path.join(cwd, 'set.jsonl.gz'), gzipSync(SET));
  await writeFile(path.join(cwd, 'other.env'), 'SERVICE_SEARCH_TEXT_WEIGHT=2\n');
  const args = ['eval', 'set.jsonl.gz', '--skip=adversarial'];
  const one = await runCommand({ cwd, args });
  expect(one.code).toBe(0);
  expect(one.stdout).toBe(
    [
      '           questions      R@1      R@5     R@10  nDCG@10',
      'all                3    0.667    0.667    0.667    0.667',
      'easy               2    1.000    1.000    1.000    1.000',
      'hard               1    0.000    0.000    0.000    0.000',
      '',
    ].join('\n'),
  );
  const both = await runCommand({ cwd, args: [...args, '--against=other.env'] });
  expect(both.stdout).toContain('other.env less here:');
  expect(both.stdout).toContain('easy               2    0.000    0.000    0.000    0.000');
  expect(both.stdout).toContain('other.env is better on 0 of 3 questions, and worse on 0.');
  const json = JSON.parse((await runCommand({ cwd, args: [...args, '--json'] })).stdout);
  expect(json).toMatchObject({ categories: { hard: { recall10: 0 } }, questions: [{}, {}, {}] });
  expect(existsSync(path.join(cwd, 'data', 'memory.db'))).toBe(false);
});

it('asks the own memory where the set has no files, also through the server and by its address', async () => {
  const { cwd } = await filledDatabase();
  const query = { user: 'user1', query: 'Where was a heron at pond 4?', relevant: ['notes/4.md'] };
  await writeFile(path.join(cwd, 'set.jsonl'), row('query', query));
  const said = /^all {16}1 {4}1\.000 {4}1\.000 {4}1\.000 {4}1\.000$/m;
  const args = ['eval', 'set.jsonl'];
  expect((await runCommand({ cwd, args })).stdout).toMatch(said);
  const server = await startCommand({ cwd });
  expect((await runCommand({ cwd, args })).stdout).toMatch(said);
  const env = { SERVICE_ADMIN_SECRET: server.adminSecret };
  const there = await runCommand({
    cwd: await temporaryDirectory(),
    args: [...args, `--url=${server.url}`],
    env,
  });
  expect(there.stderr).toContain("set.jsonl can't be read");
  const url = await runCommand({ cwd, args: [...args, `--url=${server.url}`], env });
  expect(url.stdout).toMatch(said);
  await server.stop();
});

it.each<[string, string, RegExp, ...string[]]>([
  [
    'rows with mistakes, by their lines',
    '{"type":"doc","user":"a"}\nno\n',
    /set\.jsonl:1: has no path\n.*:2: is not JSON/s,
  ],
  ['no question', SET.split('\n')[1] ?? '', /has no question/],
  [
    'a second configuration that is not there, before the first question',
    SET,
    /^[^\n]*--against names \S*other\.json, and there is no such file\.\n$/,
    '--against=other.json',
  ],
])('says so of %s', async (_, text, message, ...flags) => {
  const cwd = await temporaryDirectory();
  await writeFile(path.join(cwd, 'set.jsonl'), text);
  const ended = await runCommand({ cwd, args: ['eval', 'set.jsonl', ...flags] });
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(message)]);
});
