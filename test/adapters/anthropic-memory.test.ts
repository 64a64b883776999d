import Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toAnthropicMemoryTool } from '../../adapters/anthropic-memory.ts';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { MemoryError } from '../../core/errors.ts';
import { manualClock } from '../support/clock.ts';
import { startCutting } from '../support/model-server/cutting-proxy.ts';
import { startModelServer, type Turn } from '../support/model-server/model-server.ts';
import { temporaryDirectory } from '../support/service.ts';
import { openService, type ServedService } from './service.ts';

let service: ServedService;
beforeAll(async () => {
  service = await openService({ tools: { delete: true, move: true } });
});
afterAll(() => service.close());

let users = 0;
const newUser = (): string => `claude-${(users += 1)}`;

type Command = Record<string, unknown>;

/** Runs Anthropic’s own loop with a model that gives those commands one after the other. */
async function answersTo(
  tool: BetaRunnableTool,
  steps: (Command | Command[])[],
): Promise<string[]> {
  const toCall = (command: Command) => ({ name: 'memory', arguments: command });
  const turns: Turn[] = steps.map((step) => ({ calls: [step].flat().map(toCall) }));
  const model = await startModelServer(turns);
  await runAgent(tool, model.url);
  expect(model.refusals).toEqual([]);
  // Each request adds the answers of a turn; a held conversation sends those alone.
  const seen = new Map(
    model.requests.flatMap(({ answers }) => answers).map(({ callId, text }) => [callId, text]),
  );
  return [...seen.values()];
}

async function runAgent(tool: BetaRunnableTool, baseURL: string): Promise<void> {
  const client = new Anthropic({ apiKey: 'not-checked', baseURL, maxRetries: 0 });
  await client.beta.messages.toolRunner({
    model: 'scripted',
    max_tokens: 1024,
    messages: [{ role: 'user', content: 'Do what you are told.' }],
    tools: [tool],
  });
}

const ofUser = (userId: string, more: { readOnly?: boolean } = {}) =>
  toAnthropicMemoryTool(service.tools, { userId, actor: 'claude', ...more });

const NOTES = '# Notes\n\n- One.\n- Two.\n- Three.\n- Four.\n- Five.\n';

const CONVERSATION: Command[] = [
  { command: 'view', path: '/memories' },
  { command: 'create', path: '/memories/notes.md', file_text: NOTES },
  { command: 'create', path: '/memories/notes.md', file_text: 'Again.' },
  { command: 'create', path: '/memories/work/plans/next.md', file_text: 'Next.\n' },
  { command: 'create', path: '/memories/work/todo.md', file_text: 'x'.repeat(1536) },
  { command: 'create', path: '/memories/.hidden', file_text: 'Hidden.' },
  { command: 'create', path: '/memories/empty.md', file_text: '' },
  { command: 'view', path: '/memories/notes.md' },
  { command: 'view', path: '/memories/notes.md', view_range: [3, 4] },
  { command: 'view', path: '/memories/notes.md', view_range: [4, -1] },
  { command: 'view', path: '/memories/empty.md' },
  { command: 'view', path: '/memories/nothing.md' },
  { command: 'str_replace', path: '/memories/notes.md', old_str: '- Three.', new_str: '- Tea.' },
  { command: 'str_replace', path: '/memories/notes.md', old_str: '- Six.', new_str: '- Tea.' },
  { command: 'str_replace', path: '/memories/notes.md', old_str: '- ', new_str: '* ' },
  { command: 'str_replace', path: '/memories/nothing.md', old_str: 'a', new_str: 'b' },
  { command: 'str_replace', path: '/memories/notes.md', old_str: '# Notes', new_str: '# $& $1' },
  { command: 'insert', path: '/memories/notes.md', insert_line: 2, insert_text: '- Zero.\n' },
  { command: 'insert', path: '/memories/notes.md', insert_line: 0, insert_text: 'Top' },
  { command: 'insert', path: '/memories/notes.md', insert_line: 99, insert_text: 'Beyond' },
  { command: 'insert', path: '/memories/nothing.md', insert_line: 0, insert_text: 'Top' },
  { command: 'insert', path: '/memories/work', insert_line: 0, insert_text: 'Top' },
  { command: 'str_replace', path: '/memories/work', old_str: 'a', new_str: 'b' },
  { command: 'view', path: '/memories/../../etc/passwd' },
  { command: 'create', path: '/memories/a/../../b.md', file_text: 'Outside.' },
  { command: 'view', path: '/memories/notes.md' },
  { command: 'view', path: '/memories' },
  { command: 'view', path: '/memories/work' },
  { command: 'rename', old_path: '/memories/notes.md', new_path: '/memories/work/todo.md' },
  { command: 'rename', old_path: '/memories/notes.md', new_path: '/memories/old/notes.md' },
  { command: 'rename', old_path: '/memories/nothing.md', new_path: '/memories/a.md' },
  { command: 'rename', old_path: '/memories/work', new_path: '/memories/done' },
  { command: 'view', path: '/memories' },
  { command: 'delete', path: '/memories/done' },
  { command: 'delete', path: '/memories/done' },
  { command: 'delete', path: '/memories/old/notes.md' },
  { command: 'delete', path: '/memories' },
  { command: 'rename', old_path: '/memories', new_path: '/memories/a' },
  { command: 'view', path: '/elsewhere/notes.md' },
];

/** A folder’s size is the disk’s own affair, and an empty folder stays where there are folders. */
function toComparable(text: string): string {
  // Theirs shows no file there.
  const [listing = ''] = text.startsWith("Here're the files") ? text.split('\n\n') : [text];
  return listing
    .replace(/^Error: /, '')
    .replaceAll(/^[\d.]+[BKMG]\t(?=\S*\/$|\/memories$|\/memories\/work$)/gm, '-\t')
    .replaceAll(/^-\t\/memories\/old\/\n?/gm, '');
}

describe('the memory tool', () => {
  it('answers word for word as the one that Anthropic keeps on a disk', async () => {
    const disk = await BetaLocalFilesystemMemoryTool.init(await temporaryDirectory());
    const theirs = await answersTo(betaMemoryTool(disk), CONVERSATION);
    const ours = await answersTo(await ofUser(newUser()), CONVERSATION);
    expect(theirs).toHaveLength(CONVERSATION.length);
    CONVERSATION.forEach((command, index) => {
      const [our = '', their = ''] = [ours[index], theirs[index]].map((text) =>
        toComparable(text ?? ''),
      );
      expect([command, our]).toEqual([command, their]);
    });
  });

  it('shows no file with more lines than its line numbers have room for, as theirs does', async () => {
    const large = await openService({ limits: { maxFileBytes: 2_000_000 } });
    onTestFinished(() => large.close());
    const ours = await toAnthropicMemoryTool(large.tools, { userId: 'claude' });
    const disk = await BetaLocalFilesystemMemoryTool.init(await temporaryDirectory());
    const steps = [999_998, 999_999].flatMap((breaks): Command[] => [
      { command: 'create', path: `/memories/${breaks}.md`, file_text: '\n'.repeat(breaks) },
      { command: 'view', path: `/memories/${breaks}.md`, view_range: [999_998, -1] },
    ]);
    const refusal = `File /memories/999999.md has too many lines (1000000). Maximum is 999,999 lines.`;
    for (const tool of [betaMemoryTool(disk), ours]) {
      const [, shown, , refused = ''] = await answersTo(tool, steps);
      expect(shown).toMatch(/\n999998\t\n999999\t$/);
      expect(toComparable(refused)).toBe(refusal);
    }
  });

  it('refuses in the words that the documentation gives', async () => {
    const path = '/memories/a.md';
    const refused = await answersTo(await ofUser(newUser()), [
      { command: 'view', path },
      { command: 'str_replace', path, old_str: 'a', new_str: 'b' },
      { command: 'insert', path, insert_line: 0, insert_text: 'a' },
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/b.md' },
      { command: 'create', path, file_text: 'a\nb a\n' },
      { command: 'create', path, file_text: 'a' },
      { command: 'str_replace', path, old_str: 'c', new_str: 'b' },
      { command: 'str_replace', path, old_str: 'a', new_str: 'b' },
      { command: 'insert', path, insert_line: 4, insert_text: 'a' },
    ]);
    expect(refused).toEqual([
      `The path ${path} does not exist. Please provide a valid path.`,
      `Error: The path ${path} does not exist. Please provide a valid path.`,
      `Error: The path ${path} does not exist. Please provide a valid path.`,
      `Error: The path ${path} does not exist`,
      `Error: The path ${path} does not exist`,
      `File created successfully at: ${path}`,
      `Error: File ${path} already exists`,
      `No replacement was performed, old_str \`c\` did not appear verbatim in ${path}.`,
      'No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 2. Please ensure it is unique',
      `Error: Invalid \`insert_line\` parameter: 4. It should be within the range of lines of the file: [0, 3]`,
    ]);
  });

  it.each([
    ['\r\n', 'CRLF'],
    ['\r', 'CR'],
  ])('edits a file that ends its lines with %j as one with \\n', async (lineEnd) => {
    const path = '/memories/a.md';
    const command = (old_str: string, new_str: string): Command => ({
      command: 'str_replace',
      path,
      old_str,
      new_str,
    });
    const insert = (insert_line: number, insert_text: string): Command => ({
      command: 'insert',
      path,
      insert_line,
      insert_text,
    });
    const steps = (text: string): Command[] => [
      { command: 'create', path, file_text: text },
      command('b\nc', 'b\nx\ny\nc'),
      command('x\r\ny', 'z'),
      command('a\nb', 'q'),
      insert(1, 'one\ntwo\n'),
      insert(0, 'zero'),
      insert(99, 'none'),
      { command: 'view', path },
      { command: 'view', path, view_range: [2, 3] },
      insert(9, 'last'),
    ];
    const text = 'a\nb\nc\n\na\nb\n';
    const [userId, other] = [newUser(), newUser()];
    const expected = await answersTo(await ofUser(userId), steps(text));
    const answers = await answersTo(await ofUser(other), steps(text.replaceAll('\n', lineEnd)));
    expect(answers).toEqual(expected);
    expect(expected[3]).toContain('Multiple occurrences of old_str `a\nb` in lines: 1, 6.');
    const read = async (user: string) => {
      const { file } = await service.read(`files/users/${user}/a.md`);
      return (file as { content: string }).content;
    };
    expect(await read(userId)).toContain('b\nz\nc\n');
    expect(await read(other)).toBe((await read(userId)).replaceAll('\n', lineEnd));
  });

  it('shows what a folder holds in sizes that people read', async () => {
    const [, , listing] = await answersTo(await ofUser(newUser()), [
      { command: 'create', path: '/memories/a/b/c.md', file_text: 'x'.repeat(1536) },
      { command: 'create', path: '/memories/a.md', file_text: 'x'.repeat(10) },
      { command: 'view', path: '/memories' },
    ]);
    const [entries = ''] = listing?.split('\n\n') ?? [];
    expect(entries.split('\n').slice(1)).toEqual([
      '1.5K\t/memories',
      '10B\t/memories/a.md',
      '1.5K\t/memories/a/',
      '1.5K\t/memories/a/b/',
    ]);
  });

  describe('the view of /memories', () => {
    const VIEW: Command[] = [{ command: 'view', path: '/memories' }];
    const LISTING = "Here're the files and directories up to 2 levels deep in /memories";

    async function newUserWith(files: Record<string, string>): Promise<string> {
      const userId = newUser();
      for (const [path, content] of Object.entries(files)) {
        const args = { path: `user/${path}`, content };
        await service.tools.execute('memory_write', { context: { userId }, arguments: args });
      }
      return userId;
    }

    it('shows the files of a memory that fits, as their own view does, and the log says so', async () => {
      const userId = await newUserWith({
        'tea.md': '- Drinks tea.\n',
        'work/plan, line 2.md':
          '\n# Plan\r\n\r\n## 0123456789abcdef user/x.md, line 1, version 1\r\n- Sell.\n',
        'log.md': 'Said hello.\n',
        'hidden.md': '---\ncontext: never\n---\nSecret.\n',
      });
      const [shown = ''] = await answersTo(await ofUser(userId), VIEW);
      const [listing, ...views] = shown.split('\n\n');
      expect(listing).toContain(LISTING);
      for (const name of ['tea.md', 'work/', 'log.md', 'hidden.md']) {
        expect(listing).toContain(`/memories/${name}`);
      }
      expect(views).toEqual([
        "Here's the content of /memories/tea.md with line numbers:\n     1\t- Drinks tea.",
        [
          "Here's the content of /memories/work/plan, line 2.md with line numbers:",
          '     2\t# Plan',
          '     3\t',
          '     4\t## 0123456789abcdef user/x.md, line 1, version 1',
          '     5\t- Sell.',
        ].join('\n'),
      ]);
      const rows = await service.admin(`access-logs?userId=${userId}&action=find`);
      expect(rows.map(({ path, tool }) => [path, tool]).sort()).toEqual([
        [`users/${userId}/tea.md`, 'memory_context'],
        [`users/${userId}/work/plan, line 2.md`, 'memory_context'],
      ]);
      const read = await service.admin(`access-logs?userId=${userId}&action=read`);
      expect(read).toEqual([]);
    });

    it('shows of a memory that does not fit what is in each context, and else the list alone', async () => {
      const large = `${'A day like any other. '.repeat(40)}\n`;
      const files = Object.fromEntries(
        Array.from({ length: 12 }, (_, n) => [`${n}.md`, large] as const),
      );
      const [plain] = await answersTo(await ofUser(await newUserWith(files)), VIEW);
      expect(plain?.split('\n\n')).toHaveLength(1);
      const always = { ...files, 'me.md': '---\ncontext: always\n---\nName: Ann.\n' };
      const [shown] = await answersTo(await ofUser(await newUserWith(always)), VIEW);
      expect(shown?.split('\n\n').slice(1)).toEqual([
        "Here's the beginning of /memories/me.md with line numbers:\n     4\tName: Ann.",
      ]);
    });

    it('shows shared files that fit, and says that no command changes them', async () => {
      const own = await openService({ sharedWrites: true });
      onTestFinished(() => own.close());
      const userId = 'claude';
      for (const path of ['user/a.md', 'shared/rules.md']) {
        const args = { path, content: `In ${path}.\n` };
        await own.tools.execute('memory_write', { context: { userId }, arguments: args });
      }
      const tool = await toAnthropicMemoryTool(own.tools, { userId });
      const [shown] = await answersTo(tool, VIEW);
      expect(shown?.split('\n\n').slice(1)).toEqual([
        "Here's the content of /memories/a.md with line numbers:\n     1\tIn user/a.md.",
        "Here's the content of shared/rules.md, which all users share and no command changes, with line numbers:\n     1\tIn shared/rules.md.",
      ]);
    });

    it('lists the files where the service does not know how to give them whole', async () => {
      const userId = await newUserWith({ 'tea.md': '- Drinks tea.\n' });
      const earlier: ToolRunner = {
        listTools: () => service.tools.listTools(),
        execute: (name, request) =>
          name === 'memory_context'
            ? Promise.reject(new MemoryError('INVALID_REQUEST', '/fill is not known.'))
            : service.tools.execute(name, request),
      };
      const [shown] = await answersTo(await toAnthropicMemoryTool(earlier, { userId }), VIEW);
      expect(shown).toMatch(/\n14B\t\/memories\/tea\.md$/);
    });
  });

  it('writes the user’s memory alone, as files that the other tools see', async () => {
    const userId = newUser();
    const escapes = 'would escape /memories directory';
    const [, shared, up, other] = await answersTo(await ofUser(userId), [
      { command: 'create', path: '/memories/profile.md', file_text: '- Prefers tea.\n' },
      { command: 'create', path: '/memories/../shared/a.md', file_text: 'Mine.' },
      { command: 'view', path: '/memories/../../users/bob/profile.md' },
      { command: 'view', path: 'shared/a.md' },
    ]);
    expect(shared).toBe(`Error: Path /memories/../shared/a.md ${escapes}`);
    expect(up).toBe(`Error: Path /memories/../../users/bob/profile.md ${escapes}`);
    expect(other).toMatch(/^Error: Path must start with \/memories/);
    const revisions = await service.admin(`revisions?userId=${userId}`);
    expect(revisions).toMatchObject([{ path: `users/${userId}/profile.md`, actor: 'claude' }]);
  });

  it('keeps every one of the edits that are made to one file at once', async () => {
    const path = '/memories/list.md';
    const edits = Array.from({ length: 8 }, (_, n) => ({
      command: 'insert',
      path,
      insert_line: 0,
      insert_text: `Line ${n}.`,
    }));
    const answers = await answersTo(await ofUser(newUser()), [
      { command: 'create', path, file_text: 'End.\n' },
      edits,
      { command: 'view', path },
    ]);
    for (const [n] of edits.entries()) expect(answers.at(-1)).toContain(`Line ${n}.`);
  });

  it('answers fifty calls at once, and the trail has each of them', async () => {
    const userId = newUser();
    const create = (n: number) => ({ path: `/memories/${n}.md`, file_text: `Note ${n}.\n` });
    const calls = Array.from({ length: 50 }, (_, n) =>
      n % 2 === 0
        ? { command: 'create', ...create(n) }
        : { command: 'view', path: '/memories/plan.md' },
    );
    const [, ...answers] = await answersTo(await ofUser(userId), [
      { command: 'create', path: '/memories/plan.md', file_text: 'Go to Kyoto.\n' },
      calls,
    ]);
    expect(answers).toHaveLength(50);
    for (const [n, text] of answers.entries()) {
      expect(text).toContain(n % 2 === 0 ? `successfully at: /memories/${n}.md` : 'Go to Kyoto.');
    }
    const written = await service.admin(`revisions?userId=${userId}&actor=claude&limit=100`);
    expect(new Set(written.map(({ path }) => path)).size).toBe(26);
    const reads = async () => {
      const rows = await service.admin(`access-logs?userId=${userId}&action=read&limit=100`);
      return rows.filter(({ path }) => path === `users/${userId}/plan.md`).length;
    };
    await expect.poll(reads).toBeGreaterThanOrEqual(25);
  });

  it('is cut off in the middle of a call: what was written stays, and the next run goes on', async () => {
    const userId = newUser();
    const tool = await ofUser(userId);
    const create = (name: string) => ({
      name: 'memory',
      arguments: { command: 'create', path: `/memories/${name}.md`, file_text: 'New.\n' },
    });
    const model = await startModelServer([{ calls: [create('kept')] }, { calls: [create('cut')] }]);
    const url = await startCutting(model.url, { at: '/memories/cut.md' });
    await expect(runAgent(tool, url)).rejects.toThrow();
    expect(model.refusals).toEqual([]);
    const revisions = await service.admin(`revisions?userId=${userId}&actor=claude`);
    expect(revisions.map(({ path }) => path)).toEqual([`users/${userId}/kept.md`]);
    const [created] = await answersTo(tool, [create('cut').arguments]);
    expect(created).toBe('File created successfully at: /memories/cut.md');
  });

  it('says what is switched off, and what a command lacks', async () => {
    const plain = await openService();
    try {
      const tool = await toAnthropicMemoryTool(plain.tools, { userId: 'alice' });
      const path = '/memories/a.md';
      expect(
        await answersTo(tool, [
          { command: 'create', path, file_text: 'a' },
          { command: 'delete', path },
          { command: 'rename', old_path: path, new_path: '/memories/b.md' },
          { command: 'create', path: '/memories/b.md' },
          { command: 'burn', path },
        ]),
      ).toEqual([
        `File created successfully at: ${path}`,
        'Error: Deleting is switched off in this memory.',
        'Error: Renaming is switched off in this memory.',
        'Error: The parameter file_text is required, as text.',
        'Error: There is no command burn.',
      ]);
    } finally {
      await plain.close();
    }
  });

  it('says what it can do without a service, and how long to wait for one', async () => {
    const gone = await openService();
    await gone.close();
    const dead: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute: (name, request) => gone.client({ maxRetries: 0 }).execute(name, request),
    };
    const path = '/memories/a.md';
    const unreached = await toAnthropicMemoryTool(dead, { userId: newUser() });
    const refused = await answersTo(unreached, [
      { command: 'view', path },
      { command: 'create', path, file_text: 'a' },
    ]);
    for (const text of refused) {
      expect(text).toMatch(/^Error SERVICE_UNREACHABLE: .*\nTry again later, or go on without/);
    }

    const limited = await openService({ rateLimit: 1, now: manualClock().now });
    try {
      const tool = await toAnthropicMemoryTool(limited.client(), { userId: 'alice' });
      const create = { command: 'create', path, file_text: 'a' };
      const [created, waiting] = await answersTo(tool, [create, { command: 'view', path }]);
      expect(created).toBe(`File created successfully at: ${path}`);
      expect(waiting).toMatch(/^Error RATE_LIMITED: [^]*Try again in \d+ seconds\./);
    } finally {
      await limited.close();
    }
  });

  it('only reads when it is read-only', async () => {
    const tool = await ofUser(newUser(), { readOnly: true });
    const [view, create] = await answersTo(tool, [
      { command: 'view', path: '/memories' },
      { command: 'create', path: '/memories/a.md', file_text: 'a' },
    ]);
    expect(view).toContain('0B\t/memories');
    expect(create).toBe('Error: This memory is read-only.');
  });
});
