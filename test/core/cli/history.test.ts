import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { type CommandResult, runCommand, startCommand } from '../../support/command.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

const FILE = 'users/anna/suppliers.md';
/** By the second at which it was written. */
const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;

/** Anna's memory: a forged mail changed an account, and an agent planned a payment with it. */
async function incident() {
  const cwd = await temporaryDirectory();
  const filename = path.join(cwd, 'data', 'memory.db');
  await mkdir(path.dirname(filename), { recursive: true });
  written ??= await writeIncident(filename);
  await writeFile(filename, written.database, { mode: 0o600 });
  return { cwd, planned: written.planned, forged: written.forged };
}

let written: Awaited<ReturnType<typeof writeIncident>> | null = null;

/** Gives the closed database, which each test gets a copy of. */
async function writeIncident(filename: string) {
  const clock = manualClock();
  const core = await openCore({ storage: sqlite({ filename }), now: clock.now });
  const traceparent = `00-${'4'.repeat(32)}-${'5'.repeat(16)}-01`;
  const act = async (tool: string, args: object, actor: string, userId = 'anna') => {
    const { toolCallId } = await call(core, userId, tool, args, { actor, traceparent });
    clock.advance(1_000);
    return toolCallId;
  };
  const write = (file: string, content: string, actor: string, userId?: string, reason = 'so') =>
    act('memory_write', { path: `user/${file}`, content, reason }, actor, userId);
  await write('suppliers.md', '# Suppliers\n\n- Acme: 12-34\n', 'assistant');
  await write(
    'suppliers.md',
    '# Suppliers\n\n- Acme: 99-99\n',
    'mail-agent',
    'anna',
    'mail\nsaid so',
  );
  await act('memory_read', { path: 'user/suppliers.md' }, 'billing');
  const planned = await write('payments.md', 'Acme gets \u001b[31mmoney\n', 'billing');
  await write('payments.md', 'to Acme\n', 'billing', 'bob');
  const [revision] = (await core.revisions.list({ path: FILE, limit: 1 })).items;
  await core.close();
  return { database: await readFile(filename), planned, forged: revision?.id ?? '' };
}

/** Runs commands in a directory: alone, or while a server has the database open. */
const SURROUNDINGS = [
  ['without a server', () => Promise.resolve({ stop: () => Promise.resolve() })],
  ['through the one that runs', (cwd: string) => startCommand({ cwd })],
] as const;

describe.each(SURROUNDINGS)('the history, %s,', (_, open) => {
  it('says who wrote, who read, and what changed, as text and as JSON', async () => {
    const { cwd, forged } = await incident();
    const server = await open(cwd);
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCommand({ cwd, args });
      expect([args, code, stderr]).toEqual([args, 0, '']);
      return stdout;
    };

    const log = (await run('log', FILE)).trimEnd().split('\n');
    expect(log[0]).toBe(
      `${at(1)}  ${forged}  ${FILE}  v2  update  +1 -1  mail-agent  memory_write  mail\\nsaid so`,
    );
    expect(log).toHaveLength(2);
    expect((await run('log', '--actor=billing', '--user', 'anna')).split('\n')).toHaveLength(2);
    expect(await run('log', '--limit=1', `--since=${at(0)}`)).toMatch(
      /^.* users\/bob\/payments\.md .*\nThere are older ones: see more with --limit\.\n$/,
    );
    const inTrace = await run('log', `--trace=${'4'.repeat(32)}`, '--user=anna');
    expect(inTrace.trimEnd().split('\n')).toHaveLength(3);
    expect(await run('log', `--trace=${'6'.repeat(32)}`)).toBe('No revisions.\n');
    expect(await run('log', FILE, '--actor=nobody')).toBe('No revisions.\n');
    expect(await run('diff', 'anna', '--from', at(3))).toBe('Nothing changed.\n');
    const listed = JSON.parse(await run('log', FILE, '--json')) as { items: { id: string }[] };
    expect(listed.items[0]?.id).toBe(forged);

    expect(await run('show', FILE)).toBe('# Suppliers\n\n- Acme: 99-99\n');
    expect(await run('show', FILE, '--version=1')).toBe('# Suppliers\n\n- Acme: 12-34\n');
    expect(await run('show', FILE, '--at', at(0))).toBe('# Suppliers\n\n- Acme: 12-34\n');
    // In a pipe, a content is what it is.
    expect(await run('show', 'users/anna/payments.md')).toBe('Acme gets \u001b[31mmoney\n');

    expect(await run('blame', FILE)).toBe(
      [
        `v1  assistant   ${at(0)}  memory_write  1  # Suppliers`,
        `v1  assistant   ${at(0)}  memory_write  2`,
        `v2  mail-agent  ${at(1)}  memory_write  3  - Acme: 99-99\n`,
      ].join('\n'),
    );
    expect(await run('blame', 'users/anna/payments.md', '--reads')).toBe(
      `  written after reading ${FILE}\nv1  billing  ${at(3)}  memory_write  1  Acme gets \\u{1b}[31mmoney\n`,
    );

    const readers = (await run('readers', FILE, '--line=3')).trimEnd().split('\n');
    expect(readers[0]).toBe(`${FILE} v2:3  - Acme: 99-99`);
    expect(readers[1]).toMatch(
      /^2026-01-01T00:00:02\.000Z {2}billing {2}memory_read {2}read {2}anna {2}v2:3 {2}shown {2}/,
    );
    expect(await run('readers', FILE, '--line=3', '--version=1')).toMatch('Nobody was shown it.');

    expect(await run('diff', 'anna', '--from', at(0), '--to', at(2))).toBe(
      `--- a/${FILE}\n+++ b/${FILE}\n@@ -1,3 +1,3 @@\n # Suppliers\n \n-- Acme: 12-34\n+- Acme: 99-99\n`,
    );
    await server.stop();
  });

  it('is undone after a preview, and each file says what became of it', async () => {
    const { cwd, forged, planned } = await incident();
    const server = await open(cwd);
    const run = (...args: string[]) => runCommand({ cwd, args });
    const show = async () => (await run('show', FILE)).stdout;

    const unsure = await run('revert', `--revision=${forged}`);
    expect([unsure.code, unsure.stderr]).toEqual([78, expect.stringContaining('--yes')]);
    const preview = await run('revert', `--revision=${forged}`, '--dry-run');
    expect(preview.stdout).toBe(
      `reverted  ${FILE}\n--- a/${FILE}\n+++ b/${FILE}\n@@ -1,3 +1,3 @@\n # Suppliers\n \n-- Acme: 99-99\n+- Acme: 12-34\nWould be: 1 reverted.\n`,
    );
    expect(await show()).toMatch('99-99');
    const done = await run('revert', `--revision=${forged}`, '--yes');
    expect([done.code, done.stdout]).toEqual([0, `reverted  ${FILE}  v3\nDone: 1 reverted.\n`]);
    expect(await show()).toMatch('12-34');

    const mine = await run('revert', '--actor=billing', `--since=${at(0)}`, '--user=bob', '--yes');
    expect(mine.stdout).toBe('reverted  users/bob/payments.md  v2\nDone: 1 reverted.\n');
    const call = await run('revert', `--tool-call=${planned}`, '--yes', '--json');
    expect(JSON.parse(call.stdout)).toMatchObject({ dryRun: false, files: [{ version: 2 }] });
    const restored = await run('restore', 'anna', '--at', at(1), '--path', FILE, '--yes');
    expect([restored.code, restored.stdout]).toEqual([
      0,
      expect.stringMatching(/^restored {2}users\/anna\/suppliers\.md {2}v\d\nDone: 1 restored, 0/),
    ]);
    expect(await show()).toMatch('99-99');
    const again = await run('restore', 'anna', '--at', at(1), '--dry-run', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ dryRun: true, restored: 0 });
    await server.stop();
  });
});

it('keeps what others wrote since the revision, and names the lines that they changed', async () => {
  const { cwd, forged } = await incident();
  const filename = path.join(cwd, 'data', 'memory.db');
  const write = async (content: string) => {
    const core = await openCore({ storage: sqlite({ filename }), now: () => Date.parse(at(9)) });
    const args = { path: 'user/suppliers.md', content };
    await call(core, 'anna', 'memory_write', args, { actor: 'bob' });
    await core.close();
  };
  const revert = (...args: string[]) =>
    runCommand({ cwd, args: ['revert', `--revision=${forged}`, ...args] });
  await write('# Suppliers\n\n- Acme: 99-99 (checked)\n- Borealis: 56-78\n');
  for (const flag of ['--dry-run', '--yes']) {
    const left = await revert(flag);
    expect([left.code, left.stderr]).toEqual([2, '']);
    expect(left.stdout).toMatch(
      /^conflict {2}users\/anna\/suppliers\.md {4}bob changed one place .* \(lines? 3.* by bob\) .* --on-conflict=force/,
    );
  }
  const late = await revert('--yes', '--if-version=2');
  expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/is at version 3, not 2/)]);
  await write('# Suppliers\n\n- Acme: 99-99\n- Borealis: 56-78\n');
  await write('# Suppliers\n\n- Acme: 99-99\n- Borealis: 56-78\n- Cetus: 90-12\n');
  const forced = await revert('--dry-run', '--on-conflict=force');
  expect([forced.code, forced.stdout]).toEqual([0, expect.stringMatching(/^merged .*12-34/s)]);
});

it('ends with 2 where files are left, and with 1 or 78 and one line for what cannot be', async () => {
  const { cwd, forged } = await incident();
  const server = await startCommand({ cwd });
  const run = (...args: string[]) => runCommand({ cwd, args });
  const left = await run('revert', '--actor=assistant', `--since=${at(0)}`, '--yes');
  expect([left.code, left.stdout]).toEqual([
    2,
    expect.stringMatching(
      /^conflict {2}users\/anna\/suppliers\.md .* changed one place of it since/,
    ),
  ]);
  const cases: [number, RegExp, string[]][] = [
    [1, /users\/anna\/no\.md does not exist/, ['show', 'users/anna/no.md']],
    [1, /users\/anna\/no\.md does not exist, and has no/, ['log', 'users/anna/no.md']],
    [1, /memory of nobody does not exist, and has no/, ['log', '--user=nobody', '--json']],
    [1, /memory of nobody does not exist, and has no/, ['diff', 'nobody', `--from=${at(0)}`]],
    [1, /A physical path starts with/, ['log', '/etc/passwd']],
    [1, /No restore holds the memory of anna/, ['release', 'anna']],
    [1, /at must be a time|must be a time/, ['show', FILE, '--at=yesterday']],
    [1, /in the future/, ['restore', 'anna', '--at=2999-01-01T00:00:00Z', '--yes']],
    [1, /never was any memory of nobody/, ['restore', 'nobody', `--at=${at(1)}`, '--yes']],
    [1, /must be at most 1/, ['readers', FILE, '--line=9']],
    [78, /needs --at/, ['restore', 'anna', '--dry-run']],
    [78, /needs --from/, ['diff', 'anna']],
    [78, /needs a path/, ['blame']],
    [78, /one of --revision/, ['revert', '--dry-run']],
    [78, /one of --revision/, ['revert', '--run=1', '--actor=a', '--dry-run']],
    [78, /--revision takes no/, ['revert', `--revision=${forged}`, '--user=anna', '--yes']],
    [78, /--if-version is only/, ['revert', '--run=1', '--if-version=2', '--yes']],
    [78, /is skip, leave or force/, ['revert', '--run=1', '--on-conflict=x', '--yes']],
    [78, /from 0/, ['revert', `--revision=${forged}`, '--if-version=x', '--yes']],
    [1, /is at version 3, not 1/, ['revert', `--revision=${forged}`, '--if-version=1', '--yes']],
    [78, /whole number from 1/, ['log', '--limit=none']],
    [78, /--yes/, ['restore', 'anna', `--at=${at(1)}`, '--json']],
  ];
  for (const [code, message, args] of cases) {
    const refused = await run(...args);
    expect([args, refused.code, refused.stdout]).toEqual([args, code, '']);
    expect(refused.stderr).toMatch(message);
    expect(refused.stderr.trimEnd()).not.toContain('\n');
  }
  await server.stop();
});

/** Runs a command on a terminal whose person types `answer` once asked, after `meanwhile`. */
async function onTerminal(
  cwd: string,
  args: string[],
  answer: string,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<CommandResult> {
  const bin = path.join(import.meta.dirname, '../../../dist/core/cli/bin.cjs');
  const line = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
  const terminal = spawn('script', ['-qec', line, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'] },
  });
  let stdout = '';
  terminal.stdout.setEncoding('utf8').on('data', (data: string) => {
    const isAsked = !stdout.includes('[y/N]') && (stdout + data).includes('[y/N]');
    stdout += data;
    if (isAsked) void meanwhile().then(() => terminal.stdin.write(answer));
  });
  const code = await new Promise<number | null>((resolve) => terminal.on('close', resolve));
  return { code, signal: null, stdout: stdout.replaceAll('\r\n', '\n'), stderr: '' };
}

describe('a person on a terminal', () => {
  it('agrees to a revert of what the preview showed, and to nothing written meanwhile', async () => {
    const { cwd, forged } = await incident();
    const server = await startCommand({ cwd });
    const address = `${server.url}/v1/admin/files/${FILE}`;
    const args = ['revert', `--revision=${forged}`];
    const refused = await onTerminal(cwd, args, 'y\n', async () => {
      await fetch(address, {
        method: 'PUT',
        headers: { 'x-admin-secret': server.adminSecret, 'content-type': 'application/json' },
        body: JSON.stringify({ content: 'mine\n' }),
      });
    });
    expect([refused.code, refused.stdout]).toEqual([
      1,
      expect.stringContaining(`${FILE} is at version 3, not 2.`),
    ]);
    await server.stop();
  });

  it('sees the preview in colours, and is asked before anything is written', async () => {
    const { cwd } = await incident();
    const args = ['restore', 'anna', `--at=${at(0)}`, `--path=${FILE}`];
    for (const no of ['n\n', '\u0004']) {
      const refused = await onTerminal(cwd, args, no);
      expect([refused.code, refused.stdout]).toEqual([
        1,
        expect.stringContaining('\u001b[31m-- Acme: 99-99\u001b[0m\n\u001b[32m+- Acme: 12-34'),
      ]);
      expect(refused.stdout).toMatch('Nothing was written.');
    }
    const agreed = await onTerminal(cwd, args, 'y\n');
    expect([agreed.code, agreed.stdout]).toEqual([0, expect.stringMatching(/Done: 1 restored/)]);
    // Nothing is left to do, so nobody is asked.
    const again = await onTerminal(cwd, args, '');
    expect([again.code, again.stdout]).toEqual([0, expect.not.stringContaining('[y/N]')]);
  });

  it('is shown no escape sequence of a content', async () => {
    const { cwd } = await incident();
    const shown = await onTerminal(cwd, ['show', 'users/anna/payments.md'], '');
    expect(shown.stdout).toBe('Acme gets \\u{1b}[31mmoney\n');
  });
});

it('a command of the history explains itself', async () => {
  const cwd = await temporaryDirectory();
  for (const command of ['log', 'restore']) {
    const { code, stdout } = await runCommand({ cwd, args: [command, '--help'] });
    expect([code, stdout]).toEqual([0, expect.stringContaining(`memory-service ${command}`)]);
    expect(stdout).toContain('--json');
  }
});

it('finds a line older than what is kept, and says before when it was written', async () => {
  const { cwd } = await incident();
  const server = await startCommand({ cwd });
  await fetch(`${server.url}/v1/admin/revisions/prune`, {
    method: 'POST',
    headers: { 'x-admin-secret': server.adminSecret, 'content-type': 'application/json' },
    body: JSON.stringify({ keepLast: 1, userId: 'anna' }),
  });
  const { stdout } = await runCommand({ cwd, args: ['blame', FILE] });
  expect(stdout).toMatch(new RegExp(`^- +- +before ${at(1)} +- +1 {2}# Suppliers$`, 'm'));
  await server.stop();
});

it('undoes lines of a file, and each line that has a text, which it reads from standard input', async () => {
  const { cwd } = await incident();
  const revert = (args: readonly string[], input = '') =>
    runCommand({ cwd, args: ['revert', ...args], input });
  const lines = [`--path=${FILE}`, '--lines=3'];
  const preview = await revert([...lines, '--dry-run']);
  expect(preview).toEqual({
    code: 0,
    signal: null,
    stdout: `reverted  ${FILE}\n--- a/${FILE}\n+++ b/${FILE}\n@@ -1,3 +1,3 @@\n # Suppliers\n \n-- Acme: 99-99\n+- Acme: 12-34\nWould be: 1 reverted.\n`,
    stderr: '',
  });
  expect(await revert([...lines, '--yes', '--if-version=1'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is at version 2, not 1/) as string,
  });
  const done = await revert([...lines, '--yes']);
  expect(done.stdout).toBe(`reverted  ${FILE}  v3\nDone: 1 reverted.\n`);
  expect((await revert([...lines, '--version=2', '--dry-run'])).stdout).toBe(
    `unchanged  ${FILE}\nWould be: 1 unchanged.\n`,
  );

  const text = ['--text', '--in=everywhere'];
  const found = await revert([...text, '--dry-run'], 'to Acme\n');
  expect(found.stdout).toMatch(
    /^reverted {2}users\/bob\/payments\.md\n.*-to Acme\n1 line in 1 memory: 1 by billing\.\nWould be: 1 reverted\.\n$/s,
  );
  const everywhere = await revert([...text, '--yes'], 'to Acme');
  expect(everywhere.stdout).toMatch(/Done: 1 reverted\.\n$/);
  expect((await revert([...text, '--yes'], 'to Acme')).stdout).toBe('Done: no files.\n');

  const cases: [number, RegExp, string[], string?][] = [
    [78, /--lines needs --path/, ['--lines=3', '--yes']],
    [78, /--path does not go with --run/, ['--run=1', `--path=${FILE}`, '--yes']],
    [78, /--in does not go with --lines/, [...lines, '--in=user', '--yes']],
    [78, /--text needs --in/, ['--text', '--yes'], 'to Acme'],
    [78, /standard input/, [...text, '--yes'], ''],
    [1, /at least 4 characters/, [...text, '--yes'], 'x'],
    [1, /must be lines of the 3/, [`--path=${FILE}`, '--lines=9', '--yes']],
    [1, /no content at version 9/, [...lines, '--version=9', '--yes']],
  ];
  for (const [code, message, args, input] of cases) {
    const refused = await revert(args, input);
    expect([args, refused.code, refused.stdout]).toEqual([args, code, '']);
    expect(refused.stderr).toMatch(message);
  }
});
