import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryClient } from '../../adapters/client.ts';
import type { ToolDefinition, ToolRunner } from '../../core/contracts/tool.ts';
import { createCore } from '../../core/service.ts';
import { compileSchema } from '../../core/schemas/validate.ts';
import { manualClock } from '../support/clock.ts';
import { startCutting } from '../support/model-server/cutting-proxy.ts';
import { startModelServer } from '../support/model-server/model-server.ts';
import { type AgentLoop, LOOPS } from './loops.ts';
import { type MemoryModel, PROFILE, startMemoryModel } from './memory-model.ts';
import { openService, type ServedService } from './service.ts';
import { sqlite } from '../support/databases.ts';

// Never opened: it is there to be asked for its definitions.
const { definitions } = createCore({
  storage: sqlite({ filename: ':memory:' }),
  tools: { delete: true, move: true },
}).tools;
const NAMES = definitions.map(({ name }) => name);

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const tools = { delete: true, move: true };
let service: ServedService;
/** Without a model of its own, and with one call a minute for each user. */
let limited: ServedService;
let memoryModel: MemoryModel;
beforeAll(async () => {
  memoryModel = await startMemoryModel();
  service = await openService({ tools, model: memoryModel.model });
  limited = await openService({ rateLimit: 1, tools, now: manualClock().now });
});
afterAll(async () => {
  await service.close();
  await limited.close();
  await memoryModel.provider.close();
});

/** A user of the test's own. */
let users = 0;
function newUserId(): string {
  users += 1;
  return `user-${users}`;
}

/** One with the files that the examples of the tools speak of. */
async function newUser(): Promise<string> {
  const context = { userId: newUserId() };
  for (const [path = '', content = ''] of [
    ['user/profile.md', PROFILE],
    ['user/plan.md', 'Go to Kyoto.\n'],
    ['user/old-plan.md', 'Go to Oslo.\n'],
  ]) {
    await service.tools.execute('memory_write', { context, arguments: { path, content } });
  }
  return context.userId;
}

const PROFILE_PATH = { path: 'user/profile.md' };

interface Call {
  name: string;
  arguments: unknown;
}

/** Runs an agent whose model makes those calls at once, and gives what they were answered. */
async function answersTo(
  loop: AgentLoop,
  runner: ToolRunner,
  userId: string,
  calls: Call[],
  names: readonly string[] = NAMES,
): Promise<string[]> {
  const model = await startModelServer([{ calls }]);
  const options = { userId, actor: 'loop', tools: names };
  const words = await loop.run({ runner, options, url: model.url });
  expect(model.refusals).toEqual([]);
  expect(words).toBe('Done.');
  for (const { headers } of model.requests) {
    expect(headers['user-agent']).toMatch(loop.userAgent ?? /./);
  }
  const given = JSON.stringify(model.requests[0]?.body.tools);
  expect(given.includes('"strict":true')).toBe(loop.isStrict ?? false);
  const answers = (model.requests.at(-1)?.answers ?? []).toSorted(byCallId);
  expect(answers.map(({ callId }) => callId)).toEqual(calls.map((_, n) => `call_0_${n}`));
  return answers.map(({ text }) => loop.toText?.(text) ?? text);
}

describe.each(LOOPS.map((loop) => [loop.name, loop] as const))('%s', (_, loop) => {
  // Every other tool over HTTP, and the others in process: each loop meets both runners. The server of
  // the model checks the definitions of all tools in each run: so half of the loops run a tool at each
  // push, and all of them for the release.
  const own = LOOPS.indexOf(loop);
  const all = definitions.map((tool, index) => [tool.name, tool, index] as const);
  it.each(all.filter(([, , index]) => isRelease || (index + own) % 4 < 2))(
    'runs %s, and hands its result to the model',
    async (_name, tool, index) => {
      const runner = (index + own) % 2 === 0 ? service.tools : service.client();
      const call = {
        name: tool.name,
        arguments: withNulls(tool.name, tool.example.arguments, loop),
      };
      const [text = ''] = await answersTo(loop, runner, await newUser(), [call]);
      expectResult(tool, text);
    },
  );

  it('remembers by a model of the memory’s own, as the user and the actor of the loop', async () => {
    const userId = await newUser();
    const args = { text: 'The user now prefers coffee.', reason: 'They said so.' };
    const call = { name: 'memory_remember', arguments: withNulls('memory_remember', args, loop) };
    const [text = ''] = await answersTo(loop, service.client(), userId, [call]);
    expect(JSON.parse(text)).toMatchObject({ writes: [{ path: 'user/profile.md', version: 2 }] });
    const read = { context: { userId }, arguments: { path: 'user/profile.md' } };
    const { result } = await service.tools.execute('memory_read', read);
    expect(result.content).toBe(PROFILE.replace('tea', 'coffee'));
    const revisions = await service.admin(`revisions?userId=${userId}&actor=loop`);
    expect(revisions).toMatchObject([{ tool: 'memory_remember', reason: 'They said so.' }]);
    expect(memoryModel.provider.violations).toEqual([]);
  });

  it('gets the lines that this model selects, with their sources', async () => {
    const args = { query: 'Does the user drink tea?', fill: false };
    const call = { name: 'memory_context', arguments: withNulls('memory_context', args, loop) };
    const [text = ''] = await answersTo(loop, service.tools, await newUser(), [call]);
    expect(JSON.parse(text)).toMatchObject({
      context: expect.stringMatching(
        /^<memory-\w+>\n## \w+ user\/profile\.md, line 3, version 1, [\d-]+, under "Profile"\n\n- Prefers tea\.\n<\/memory-\w+>\n$/,
      ),
      sources: [{ path: 'user/profile.md', startLine: 3, endLine: 3, version: 1 }],
      mode: 'model',
    });
    expect(memoryModel.provider.violations).toEqual([]);
  });

  it('shows the model what memory has, where a search finds nothing', async () => {
    const args = { query: 'Quadratic equations' };
    const call = { name: 'memory_find', arguments: withNulls('memory_find', args, loop) };
    const [text = ''] = await answersTo(loop, service.client(), await newUser(), [call]);
    expect(JSON.parse(text)).toMatchObject({
      results: [],
      hint: expect.stringMatching(
        /^Nothing matches these words\. .*user\/profile\.md \(# Profile\)/,
      ),
    });
    const [nothing = ''] = await answersTo(loop, service.tools, newUserId(), [call]);
    expect(JSON.parse(nothing)).toMatchObject({ hint: expect.stringMatching(/empty/i) });
  });

  it('is told what there is no model for, and how to have one', async () => {
    const call = {
      name: 'memory_remember',
      arguments: withNulls('memory_remember', { text: 'Likes tea.' }, loop),
    };
    const [text] = await answersTo(loop, limited.tools, newUserId(), [call]);
    if (loop.leavesOutUnavailable) expect(text).toMatch(/memory_remember.* not found/);
    else expect(text).toMatch(/^Error MODEL_NOT_CONFIGURED: [^]*SERVICE_MODEL_PROVIDER/);
  });

  it('writes as the user that it is bound to, and as the actor that it was given', async () => {
    const userId = await newUser();
    const call = { name: 'memory_write', arguments: { path: 'user/new.md', content: 'New.\n' } };
    await answersTo(loop, service.tools, userId, [call]);
    const items = await service.admin(`revisions?userId=${userId}&actor=loop`);
    expect(items.map(({ path }) => path)).toEqual([`users/${userId}/new.md`]);
  });

  it.each(['in process', 'over HTTP'])(
    'is seen as one run %s, where its framework tells: what it wrote, it wrote after what it read',
    async (how) => {
      const runner = how === 'in process' ? service.tools : service.client();
      const userId = await newUser();
      const profile = { path: `users/${userId}/profile.md` };
      const afterReading = async (name: string) => {
        const [revision] = await service.admin(`revisions?path=users/${userId}/${name}`);
        return (await service.read(`revisions/${String(revision?.['id'])}`))['afterReading'];
      };
      const read = withNulls('memory_read', { path: 'user/profile.md' }, loop);
      const write = (path: string) =>
        withNulls('memory_write', { path: `user/${path}`, content: 'New.\n' }, loop);
      const run = async (...turns: Call[]) => {
        const model = await startModelServer(turns.map((call) => ({ calls: [call] })));
        await loop.run({
          runner,
          options: { userId, actor: 'loop', tools: NAMES },
          url: model.url,
        });
        expect(model.refusals).toEqual([]);
      };
      await run(
        { name: 'memory_read', arguments: read },
        { name: 'memory_write', arguments: write('a.md') },
      );
      const isKnown = loop.knowsRun === true;
      expect(await afterReading('a.md')).toMatchObject([{ ...profile, probably: !isKnown }]);
      // Another run of the same agent, soon after.
      await run({ name: 'memory_write', arguments: write('b.md') });
      expect(await afterReading('b.md')).toMatchObject([{ ...profile, probably: true }]);
    },
  );

  it('tells the model what is wrong with arguments, and goes on', async () => {
    const calls = [
      { name: 'memory_read', arguments: {} },
      { name: 'memory_write', arguments: { path: 'user/a.md', content: 5 } },
      { name: 'memory_read', arguments: { path: 'user/../../etc/passwd' } },
      { name: 'memory_read', arguments: { path: 'user/nothing.md' } },
    ];
    const userId = await newUser();
    const answers = await answersTo(loop, service.tools, userId, calls);
    const [missing, type, path, absent] = answers;
    // Code and reason, what to do, and the fields as data: no stack, and nothing of this machine.
    const refused = (field: string) =>
      new RegExp(`^Error INVALID_REQUEST: /${field}\\.\\n[^\\n]+\\nDetails: [^\\n]+$`);
    expect(missing).toMatch(refused('path is required'));
    expect(type).toMatch(refused('content must be a string'));
    // The refused calls are in the trace as any other.
    await expect
      .poll(() => service.admin(`observability/events?userId=${userId}&limit=500`))
      .toSatisfy(
        (events: { errorCode: string | null }[]) =>
          events.filter(({ errorCode }) => errorCode === 'INVALID_REQUEST').length === 2,
      );
    expect(path).toMatch(/^Error INVALID_PATH: /);
    expect(absent).toMatch(/^Error FILE_NOT_FOUND: user\/nothing\.md does not exist\.\nList the/);
  });

  // Anthropic’s API has them as an object.
  const { notJson } = loop;
  if (notJson !== undefined) {
    const CUT = { name: 'memory_write', arguments: '{"path":"user/a.md","content":"Cut o' };

    it.each([
      ['alone', [CUT]],
      ['beside another', [CUT, { name: 'memory_read', arguments: '{"path":"user/profile.md"}' }]],
    ])('tells the model that the arguments of a call %s are no JSON', async (_how, calls) => {
      const userId = await newUser();
      if (notJson === 'ends the run') {
        const model = await startModelServer([{ calls }]);
        const run = loop.run({ runner: service.tools, options: { userId }, url: model.url });
        await expect(run).rejects.toThrow(/JSON/);
        return;
      }
      const [cut, whole] = await answersTo(loop, service.tools, userId, calls);
      expect(cut).toMatch(notJson);
      if (calls.length > 1) expect(whole).toContain('Prefers tea.');
      if (loop.records?.includes('not JSON')) {
        const [, read] = calls;
        await expectTrail(userId, [{ name: 'INVALID_REQUEST' }, ...(read ? [read] : [])]);
      }
      const { files } = (
        await service.tools.execute('memory_list', {
          context: { userId },
          arguments: {},
        })
      ).result;
      expect(files.map(({ path }) => path)).not.toContain('user/a.md');
    });
  }

  it('has no place for another user: neither in an argument nor in a path', async () => {
    const [userId, other] = [await newUser(), await newUser()];
    const calls = [
      { name: 'memory_read', arguments: { path: 'user/profile.md', userId: other } },
      { name: 'memory_read', arguments: { path: `users/${other}/profile.md` } },
      { name: 'memory_read', arguments: { path: `user/../${other}/profile.md` } },
    ];
    const answers = await answersTo(loop, service.tools, userId, calls);
    for (const text of answers) expect(text).not.toContain('tea');
    const items = await service.admin(`access-logs?userId=${other}&action=read`);
    expect(items).toEqual([]);
  });

  it('answers the call of a tool that is not there, beside one that is', async () => {
    const calls = [
      { name: 'memory_nothing', arguments: { path: 'user/profile.md' } },
      { name: 'memory_read', arguments: { path: 'user/profile.md' } },
    ];
    for (const runner of [service.tools, service.client()]) {
      const userId = await newUser();
      const [unknown, known] = await answersTo(loop, runner, userId, calls);
      expect(unknown).toMatch(loop.unknownTool);
      expect(known).toContain('Prefers tea.');
      if (loop.records?.includes('unknown tool')) {
        await expectTrail(userId, [{ name: 'TOOL_NOT_FOUND' }, { name: 'memory_read' }]);
      }
    }
  });

  it('runs no tool that the agent was not given', async () => {
    const userId = await newUser();
    const calls = [
      { name: 'memory_write', arguments: { path: 'user/new.md', content: 'New.\n' } },
      { name: 'memory_read', arguments: withNulls('memory_read', PROFILE_PATH, loop) },
    ];
    const [refused] = await answersTo(loop, service.tools, userId, calls, ['memory_read']);
    expect(refused).toContain('memory_write');
    await expectTrail(userId, [{ name: 'memory_read' }]);
  });

  it('keeps every one of the changes that are made to one file at once', async () => {
    const userId = await newUser();
    const lines = Array.from({ length: 8 }, (_, n) => `- Line ${n}.\n`);
    const calls = lines.map((text) => ({
      name: 'memory_patch',
      arguments: { path: 'user/profile.md', append: { text } },
    }));
    const answers = await answersTo(loop, service.client(), userId, calls);
    for (const text of answers) expect(JSON.parse(text)).toMatchObject({ unchanged: false });
    const read = { context: { userId }, arguments: { path: 'user/profile.md' } };
    const { result } = await service.tools.execute('memory_read', read);
    for (const line of lines) expect(result.content).toContain(line);
  });

  it('answers fifty calls at once, and the trail has each of them', async () => {
    const userId = await newUser();
    const calls = Array.from({ length: 50 }, (_, n) => {
      const [name, args] =
        n % 2 === 0
          ? ['memory_read', { path: 'user/profile.md' }]
          : ['memory_write', { path: `user/${n}.md`, content: `Note ${n}.\n` }];
      return { name, arguments: withNulls(name, args, loop) };
    });
    const answers = await answersTo(loop, service.tools, userId, calls);
    for (const [n, text] of answers.entries()) {
      const path = n % 2 === 0 ? 'user/profile.md' : `user/${n}.md`;
      expect(JSON.parse(text)).toMatchObject({ path, version: 1 });
    }
    await expectTrail(userId, calls);
  });

  it('is cut off in the middle of a call: it ends, what was written stays, and the next run goes on', async () => {
    const userId = await newUser();
    const write = (name: string) => {
      const args = { path: `user/${name}.md`, content: 'New.\n' };
      return [{ name: 'memory_write', arguments: withNulls('memory_write', args, loop) }];
    };
    const model = await startModelServer([{ calls: write('kept') }, { calls: write('cut') }]);
    const options = { userId, actor: 'loop', tools: NAMES };
    const url = await startCutting(model.url, { at: 'user/cut.md' });
    await expect(loop.run({ runner: service.tools, options, url })).rejects.toThrow();
    expect(model.refusals).toEqual([]);
    await expectTrail(userId, write('kept'));
    const revisions = await service.admin(`revisions?userId=${userId}&actor=loop`);
    expect(revisions.map(({ path }) => path)).toEqual([`users/${userId}/kept.md`]);
    const [text] = await answersTo(loop, service.tools, userId, write('cut'));
    expect(JSON.parse(text ?? '')).toMatchObject({ path: 'user/cut.md', created: true });
  });

  it('writes nothing of a call that the token limit cuts off, and can go on', async () => {
    const userId = await newUser();
    const args = { path: 'user/cut.md', content: 'This is only the beginn' };
    const calls = [
      { name: 'memory_read', arguments: withNulls('memory_read', PROFILE_PATH, loop) },
      { name: 'memory_write', arguments: args },
    ];
    const model = await startModelServer([{ calls, isCutOff: true }]);
    const options = { userId, actor: 'loop', tools: NAMES };
    const ended = loop.run({ runner: service.tools, options, url: model.url });
    // Of the loops that frameworks run, some end here, and some with an error.
    if (loop.records?.includes('unknown tool') && loop.failsAtTokenLimit !== true) {
      expect(await ended).toBe('Done.');
      await expectTrail(userId, [{ name: 'memory_read' }, { name: 'INVALID_REQUEST' }]);
    } else await ended.catch(() => undefined);
    expect(model.refusals).toEqual([]);
    expect(await service.admin(`revisions?userId=${userId}&actor=loop`)).toEqual([]);
    const [text] = await answersTo(loop, service.tools, userId, calls.slice(1));
    expect(JSON.parse(text ?? '')).toMatchObject({ path: 'user/cut.md', created: true });
  });

  it('goes on when the service cannot be reached', async () => {
    const dead = new MemoryClient({ baseUrl: await freeUrl(), apiKey: 'any', maxRetries: 0 });
    const runner: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute: (name, request) => dead.execute(name, request),
    };
    const calls = [{ name: 'memory_read', arguments: { path: 'user/profile.md' } }];
    const [text] = await answersTo(loop, runner, await newUser(), calls);
    expect(text).toMatch(/^Error SERVICE_UNREACHABLE: .*\nTry again later, or go on without/);
  });

  it('tells the model how long to wait when there were too many calls', async () => {
    const calls = [
      { name: 'memory_list', arguments: {} },
      { name: 'memory_list', arguments: {} },
    ];
    const answers = await answersTo(loop, limited.client(), newUserId(), calls);
    const [refused = ''] = answers.filter((text) => text.startsWith('Error'));
    expect(answers).toHaveLength(2);
    expect(refused).toMatch(/^Error RATE_LIMITED: /);
    expect(refused).toMatch(/Try again in \d+ seconds\./);
  });
});

function byCallId(a: { callId: string }, b: { callId: string }): number {
  return a.callId.localeCompare(b.callId, 'en', { numeric: true });
}

/** The trail has these calls of the loop and no others: by the tool, or by the code of an error. */
async function expectTrail(userId: string, calls: readonly { name: string }[]): Promise<void> {
  const trail = async () => {
    const events = await service.admin(`observability/events?userId=${userId}&limit=500`);
    const made = events.filter(
      ({ actor, tool, errorCode }) => actor === 'loop' && (tool ?? errorCode) !== null,
    );
    return made.map(({ tool, errorCode }) => String(errorCode ?? tool)).sort();
  };
  await expect.poll(trail).toEqual(calls.map(({ name }) => name).sort());
}

/** Where nothing listens: a port that was taken and given back. */
async function freeUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** Arguments as a model of that loop writes them: in strict mode null for what it leaves out. */
function withNulls(name: string, args: unknown, { isStrict = false }: AgentLoop): unknown {
  if (!isStrict) return args;
  const tool = definitions.find((one) => one.name === name);
  const { properties = {} } = (tool?.inputSchema ?? {}) as { properties?: object };
  const leftOut = Object.fromEntries(Object.keys(properties).map((one) => [one, null]));
  return { ...leftOut, ...(args as object) };
}

function expectResult({ name, outputSchema }: ToolDefinition, text: string): void {
  const result: unknown = JSON.parse(text);
  expect(() => compileSchema(outputSchema)(result), name).not.toThrow();
}
