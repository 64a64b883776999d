import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../core/errors.ts';
import type { Screener } from '../../../core/contracts/screener.ts';
import type { Core } from '../../../core/service.ts';
import { compress } from '../../../core/archive/export.ts';
import { packFolder } from '../../../core/archive/folder.ts';
import { exportAll, importAll } from '../archive/archives.ts';
import { serveWithModel } from '../../support/model-service.ts';
import { rejection } from '../../support/rejection.ts';
import { sqlite } from '../../support/databases.ts';
import { call, openCore, temporaryDatabase, temporaryDirectory } from '../../support/service.ts';
import { createFillIn } from './fill-in.ts';

const fillIn = createFillIn(1);
const CARD = fillIn('{card4}');
const TOKEN = fillIn('ghp_{b62:36}');
const OPERATOR = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const PATH = 'user/notes.md';

/** One database with screening set anew each time. */
async function makeReopen(): Promise<(secrets: Policy) => Promise<Core>> {
  const filename = await temporaryDatabase();
  let last: Core | null = null;
  return async (secrets) => {
    await last?.close();
    return (last = await openCore({ storage: sqlite({ filename }), screen: { secrets } }));
  };
}

type Policy = 'off' | 'warn' | 'mask' | 'refuse';
const open = (secrets: Policy, more: { personal?: Policy; patterns?: string } = {}) =>
  openCore({ screen: { secrets, ...more } });

const write = (core: Core, content: string, more: object = {}, options: object = {}) =>
  call<{ masked?: unknown; unchanged: boolean }>(
    core,
    'alice',
    'memory_write',
    { path: PATH, content, ...more },
    options,
  );

async function read(core: Core, file = PATH): Promise<string> {
  const { result } = await call<{ content: string }>(core, 'alice', 'memory_read', { path: file });
  return result.content;
}

/** All that the database says, as text. */
async function allRows(core: Core): Promise<string> {
  await core.queue.flush();
  const [revisions, events, access, audit] = await Promise.all([
    core.revisions.list({}),
    core.observability.events({}),
    core.accessLog.list({}),
    core.storage.audit.list({}, { limit: 100, order: 'desc', after: null }),
  ]);
  return JSON.stringify([revisions, events, access, audit]);
}

describe('SERVICE_SCREEN_SECRETS', () => {
  it('warn stores a secret, and hygiene flags its line', async () => {
    const core = await openCore();
    const { result } = await write(core, `- Tea.\n- Token ${TOKEN}\n`);
    expect(result).not.toHaveProperty('masked');
    expect(await read(core)).toContain(TOKEN);
    const { findings } = await core.observability.hygiene({ userId: 'alice' });
    expect(findings).toMatchObject([
      { kind: 'secret', places: [{ path: 'users/alice/notes.md', lines: [2] }] },
    ]);
    expect(JSON.stringify(findings)).not.toContain(TOKEN.slice(-8));
  });

  it('off flags nothing', async () => {
    const core = await open('off');
    await write(core, `- Token ${TOKEN}\n`);
    expect((await core.observability.hygiene({ userId: 'alice' })).findings).toEqual([]);
  });

  it('mask replaces what was found, and says where', async () => {
    const core = await open('mask');
    const content = `- Pays with ${CARD}.\n- Token ${TOKEN}\n- password: hunter22x, and tea\n`;
    const { result } = await write(core, content);
    expect(result.masked).toEqual([
      { line: 1, kind: 'card' },
      { line: 2, kind: 'token' },
      { line: 3, kind: 'password' },
    ]);
    expect(await read(core)).toBe(
      `- Pays with [card …${CARD.slice(-4)}].\n- Token [secret]\n- password: [secret], and tea\n`,
    );
    // What is masked has nothing left to be masked.
    const again = await write(core, content);
    expect(again.result).toMatchObject({ unchanged: true });
    expect((await core.observability.hygiene({ userId: 'alice' })).findings).toEqual([]);
  });

  it('refuse names line and kind, and writes nothing', async () => {
    const core = await open('refuse');
    const error = await rejection(write(core, `- Tea.\n- Token ${TOKEN}\n- ${CARD}\n`));
    expect(error.code).toBe('CONTENT_REFUSED' satisfies ErrorCode);
    expect(error.details).toEqual({
      path: PATH,
      refused: [
        { line: 2, kind: 'token' },
        { line: 3, kind: 'card' },
      ],
    });
    expect(JSON.stringify([error.message, error.details])).not.toContain(TOKEN.slice(-8));
    expect(await core.storage.files.get({ scope: 'u:alice', path: 'notes.md' })).toBeNull();
  });

  it.each(['mask', 'refuse'] as const)(
    '%s leaves the text in no row, index or idempotent answer',
    async (policy) => {
      const core = await open(policy);
      const change = write(
        core,
        `- Token ${TOKEN}\n`,
        { reason: `from ${TOKEN}` },
        { idempotencyKey: 'one' },
      );
      await change.catch((error: unknown) => error);
      const repeated = await write(
        core,
        `- Token ${TOKEN}\n`,
        { reason: `from ${TOKEN}` },
        { idempotencyKey: 'one' },
      ).catch((error: unknown) => error);
      expect(JSON.stringify(repeated)).not.toContain(TOKEN);
      const found = await call(core, 'alice', 'memory_find', { query: TOKEN });
      expect(JSON.stringify(found.result)).not.toContain(TOKEN);
      expect(await allRows(core)).not.toContain(TOKEN);
    },
  );

  it.each(['mask', 'refuse'] as const)(
    '%s refuses a new path, and names it nowhere',
    async (policy) => {
      const core = await open(policy);
      const path = `user/keys/${TOKEN}.md`;
      const shown = 'user/keys/[secret].md';
      const error = await rejection(
        call(core, 'alice', 'memory_write', { path, content: '- Tea.' }),
      );
      expect(error.details).toEqual({
        field: 'path',
        path: shown,
        refused: [{ line: 1, kind: 'token' }],
      });
      await write(core, '- Tea.\n');
      const operator = core.files.put(`users/alice/${TOKEN}`, { content: 'Tea' }, OPERATOR);
      expect((await rejection(operator)).code).toBe('CONTENT_REFUSED');
      expect(JSON.stringify([error.message, await rejection(operator)])).not.toContain(TOKEN);
      expect(await allRows(core)).not.toContain(TOKEN);
      expect(await core.metrics.text()).toContain(
        'memory_service_screened_writes_total{outcome="refused",kind="token"} 2',
      );
    },
  );

  it('refuses a move to a path with a secret; a file that has one may change', async () => {
    const reopen = await makeReopen();
    const path = `user/${TOKEN}.md`;
    await call(await reopen('off'), 'alice', 'memory_write', { path, content: 'a' });
    const core = await reopen('refuse');
    await call(core, 'alice', 'memory_write', { path, content: 'b' });
    const { findings } = await core.observability.hygiene({ userId: 'alice' });
    expect(findings).toMatchObject([
      { kind: 'secret', places: [{ path: `users/alice/${TOKEN}.md`, lines: [] }] },
    ]);
    const moving = await openCore({
      screen: { secrets: 'mask' },
      tools: { move: true },
    });
    await write(moving, 'a');
    const move = call(moving, 'alice', 'memory_move', { from: PATH, to: path });
    expect((await rejection(move)).details).toMatchObject({ path: 'user/[secret].md' });
    expect(await read(moving)).toBe('a');
  });

  it('says what an import masked, also in a dry run, and counts writes alone', async () => {
    const core = await open('mask');
    const bundle = JSON.stringify([{ id: '1', memory: `Token ${TOKEN}`, user_id: 'bob' }]);
    const outcomes: unknown[] = [];
    for (const dryRun of [true, false]) {
      const options = {
        onExisting: 'refuse' as const,
        dryRun,
        caller: null,
        from: 'mem0' as const,
      };
      const source = () => Readable.from([Buffer.from(bundle)]);
      for await (const line of await core.archive.import(source, options)) outcomes.push(line);
    }
    expect(outcomes).toHaveLength(2);
    for (const line of outcomes) {
      expect(line).toMatchObject({ outcome: 'created', masked: [{ kind: 'token' }] });
    }
    expect(await core.metrics.text()).toContain(
      'memory_service_screened_writes_total{outcome="masked",kind="token"} 1',
    );
  });

  it('skips an imported file for its path, and names the path masked', async () => {
    const core = await open('refuse');
    const folder = await temporaryDirectory();
    await writeFile(path.join(folder, `${TOKEN}.md`), '- Tea.\n');
    for (const dryRun of [true, false]) {
      const options = {
        onExisting: 'refuse' as const,
        dryRun,
        caller: null,
        from: 'markdown' as const,
      };
      const packed = compress(
        packFolder(folder, {
          userId: 'alice',
          onNormalised: () => undefined,
          onLeftOut: () => undefined,
          onFile: () => undefined,
        }),
      );
      const chunks: Uint8Array[] = [];
      for await (const chunk of packed) chunks.push(chunk as Uint8Array);
      const lines: unknown[] = [];
      const imported = await core.archive.import(() => Readable.from(chunks), options);
      for await (const line of imported) lines.push(line);
      expect(lines).toMatchObject([{ item: 'users/alice/[secret].md' }]);
      expect(JSON.stringify(lines)).not.toContain(TOKEN);
    }
  });

  it('looks at added lines alone', async () => {
    const reopen = await makeReopen();
    await write(await reopen('off'), `- Token ${TOKEN}\n- Tea.\n`);
    for (const policy of ['mask', 'refuse'] as const) {
      const next = await reopen(policy);
      const patch = { path: PATH, append: { text: `- Coffee (${policy}).` } };
      const { result } = await call(next, 'alice', 'memory_patch', patch);
      expect(result).not.toHaveProperty('masked');
      expect(await read(next)).toContain(TOKEN);
    }
    const masking = await reopen('mask');
    const patch = { path: PATH, append: { text: `- Again ${TOKEN}` } };
    const { result } = await call(masking, 'alice', 'memory_patch', patch);
    expect(result).toMatchObject({ masked: [{ line: 5, kind: 'token' }] });
    expect((await read(masking)).split(TOKEN)).toHaveLength(2);
  });

  it('takes a revert, a move and the archive of this service as they are', async () => {
    const reopen = await makeReopen();
    const lax = await reopen('off');
    await write(lax, `- Token ${TOKEN}\n`);
    const archive = await exportAll(lax);
    await write(lax, '- Tea.\n');
    const strict = await reopen('refuse');
    const [newest] = (await strict.revisions.list({ userId: 'alice' })).items;
    await strict.revisions.revert(newest?.id ?? '', {}, OPERATOR);
    expect(await read(strict)).toContain(TOKEN);
    const there = await open('refuse');
    await call(there, 'alice', 'memory_write', { path: 'user/mine.md', content: 'mine' });
    // What alice has there makes a merge of it: contents are written as new versions.
    await importAll(there, archive);
    expect(await read(there)).toContain(TOKEN);
  });

  it('skips and names a refused file of a folder, also in a dry run', async () => {
    const core = await open('refuse');
    const bundle = JSON.stringify([
      { id: '1', memory: 'Drinks tea', user_id: 'alice' },
      { id: '2', memory: `Token ${TOKEN}`, user_id: 'bob' },
    ]);
    for (const dryRun of [true, false]) {
      const lines: unknown[] = [];
      const options = {
        onExisting: 'refuse' as const,
        dryRun,
        caller: null,
        from: 'mem0' as const,
      };
      const imported = await core.archive.import(
        () => Readable.from([Buffer.from(bundle)]),
        options,
      );
      for await (const line of imported) lines.push(line);
      const text = JSON.stringify(lines);
      expect(text).toContain('what looks like a GitHub token: it is not stored');
      expect(text).not.toContain(TOKEN);
      expect(text).toContain('users/alice/');
    }
    expect(await core.storage.files.list('u:bob', { prefix: '', after: null, limit: 5 })).toEqual(
      [],
    );
  });

  it('masks what an operator writes, too', async () => {
    const core = await open('mask');
    const written = await core.files.put(
      'users/alice/a.md',
      { content: `Token ${TOKEN}` },
      OPERATOR,
    );
    expect(written.masked).toEqual([{ line: 1, kind: 'token' }]);
  });
});

describe('memory_remember', () => {
  const remember = async (secrets: Policy, text: string) => {
    const service = await serveWithModel({ screen: { secrets } });
    const answer = await service.execute('memory_remember', { text }, { userId: 'alice' });
    const prompts = JSON.stringify([service.asked, service.judged]);
    return { service, prompts, ...answer };
  };

  it('masks a fact before a model sees it', async () => {
    const { service, prompts, status, json } = await remember('mask', `Pays with ${CARD} at work.`);
    expect(status).toBe(200);
    expect(json.result).toMatchObject({ masked: [{ line: 1, kind: 'card' }] });
    expect(prompts).toContain(`[card …${CARD.slice(-4)}]`);
    expect(prompts + JSON.stringify(json)).not.toContain(CARD);
    expect(await allRows(service.core)).not.toContain(CARD);
  });

  it('refuses one that screening refuses, and asks no model', async () => {
    const { service, status, json } = await remember('refuse', `Pays with ${CARD} at work.`);
    expect(status).toBe(422);
    expect(json.error).toMatchObject({
      code: 'CONTENT_REFUSED',
      details: { field: 'text', refused: [{ line: 1, kind: 'card' }] },
    });
    expect(service.asked).toEqual([]);
  });

  it('shows no model a password, whatever the policy is', async () => {
    const { service, status } = await remember('off', 'The password is hunter22x.');
    expect(status).toBe(400);
    expect(service.asked).toEqual([]);
  });
});

describe('what is found', () => {
  const KEY = [
    '-----BEGIN RSA PRIVATE',
    ' KEY-----\n',
    fillIn('{b62:60}\n{b62:60}\n'),
    '-----END RSA PRIVATE',
    ' KEY-----',
  ].join('');
  const [head, tail] = [TOKEN.slice(0, 24), TOKEN.slice(24)];

  it.each([
    ['in front matter', `---\napi_key: ${fillIn('{b62:32}')}\n---\n# A\n`],
    ['in a code block', `\`\`\`sh\nexport GITHUB_TOKEN=${TOKEN}\n\`\`\`\n`],
    ['in the target of a link', `[board](https://example.org/?token=${fillIn('{b62:40}')})\n`],
    ['in a table', `| name | password |\n| --- | --- |\n| wifi password | hunter22x |\n`],
    ['cut by a line end', `Token: ${head}\n${tail}\n`],
    ['cut by a line end in a quote', `> Token: ${head}\n> ${tail}\n`],
    ['cut by a backslash', `TOKEN=${head}\\\n${tail}\n`],
    ['a card over two lines', `${CARD.slice(0, 9)}\n${CARD.slice(10)}\n`],
    ['a password below its word', `**Password**\n\nhunter22x!\n`],
    ['a private key', `Key:\n${KEY}\n`],
    [
      'a card in other digits',
      CARD.replaceAll(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit))),
    ],
  ])('%s is masked, and nothing of it stays', async (_, content) => {
    const core = await open('mask');
    const { result } = await write(core, content);
    expect(result.masked).not.toEqual([]);
    expect(result.masked).toBeDefined();
    const stored = await read(core);
    for (const part of [
      TOKEN,
      head,
      tail,
      CARD.slice(10),
      'hunter22x',
      ...KEY.split('\n').slice(1, -1),
    ])
      expect(stored).not.toContain(part);
  });

  it('is nothing in 256 KB of base64, hashes, and ids of our own', async () => {
    const core = await open('refuse');
    const bytes = Buffer.from(
      Array.from({ length: 190_000 }, (_, at) => Math.imul(at, 2_654_435_761) >>> 24),
    );
    await write(core, `data:image/png;base64,${bytes.toString('base64')}\n`);
    const { result } = await call<{ revisionId: string }>(core, 'alice', 'memory_write', {
      path: 'user/ids.md',
      content: fillIn('- {uuid}\n- sha256 {hex:64}\n- commit {hex:40}\n'),
    });
    await call(core, 'alice', 'memory_write', {
      path: 'user/own.md',
      content: `- ${result.revisionId}`,
    });
  });

  it('is personal data where an operator wants that', async () => {
    const core = await open('warn', { personal: 'mask' });
    const content = '- anna@example.org, +49 171 1234567\n- SSN 123-45-6789\n';
    const { result } = await write(core, content);
    expect(result.masked).toEqual([
      { line: 1, kind: 'email' },
      { line: 1, kind: 'phone' },
      { line: 2, kind: 'national_id' },
    ]);
    expect(await read(core)).toBe('- [e-mail], [phone]\n- SSN [national id]\n');
    const flagging = await open('off', { personal: 'warn' });
    await write(flagging, content);
    const { findings } = await flagging.observability.hygiene({ userId: 'alice' });
    expect(new Set(findings.map(({ kind }) => kind))).toEqual(new Set(['personal']));
  });
});

describe('patterns of one’s own', () => {
  async function patternFile(text: string): Promise<string> {
    const file = path.join(await temporaryDirectory(), 'patterns.txt');
    await writeFile(file, text);
    return file;
  }

  it('are screened like any secret', async () => {
    const patterns = await patternFile(
      '# ours\nemployee number: EMP-\\d{6}\npersonal.room: /room \\d+/i\n',
    );
    const core = await open('refuse', { patterns });
    const error = await rejection(write(core, '- She is EMP-123456\n'));
    expect(error.details).toMatchObject({ refused: [{ line: 1, kind: 'employee_number' }] });
    // personal is off.
    await write(core, '- ROOM 12\n');
  });

  it('that can’t be used stop the start, with all mistakes at once', async () => {
    const patterns = await patternFile('a: (x\nno pattern\n\nb: (?=x)y\nc: ok\n');
    const refused = await open('mask', { patterns }).then(
      () => null,
      (error: unknown) => error as Error,
    );
    expect(refused?.name).toBe('ConfigError');
    for (const part of [
      ':1: the pattern of a is not a regular',
      ':2: needs a name',
      ':4: the pattern of b looks',
    ]) {
      expect(refused?.message).toContain(part);
    }
    expect(refused?.message).not.toContain(':5:');
    const missing = await open('mask', { patterns: '/nowhere/at/all' }).catch(
      (error: unknown) => error as Error,
    );
    expect((missing as Error).message).toContain('/nowhere/at/all cannot be read');
  });

  it('may be code: a plugin’s screener', async () => {
    const badges: Screener = {
      kind: 'badge_number',
      policy: 'personal',
      screen: (text) =>
        [...text.matchAll(/B-\d{5}/g)].map(({ 0: found, index }) => ({
          start: index,
          end: index + found.length,
        })),
    };
    const plugin = {
      name: 'badges',
      apiVersion: 2,
      setup: () => ({ screeners: [badges] }),
    } as const;
    const core = await openCore({ screen: { personal: 'mask' }, plugins: [plugin] });
    expect((await write(core, '- Badge B-12345\n')).result.masked).toEqual([
      { line: 1, kind: 'badge_number' },
    ]);
    const failing = { ...badges, screen: () => [{ start: 5, end: 900 }] };
    const broken = await openCore({
      screen: { personal: 'mask' },
      plugins: [{ ...plugin, setup: () => ({ screeners: [failing] }) }],
    });
    expect((await rejection(write(broken, '- Tea.\n'))).code).toBe('INTERNAL');
  });
});
