import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../core/contracts/access.ts';
import type { NamedSpace } from '../../../core/contracts/tool.ts';
import { toErrorBody, toMemoryError } from '../../../core/errors.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import { asAdmin, type LiveServer, serveCore } from './serve.ts';

/** Each call is made over HTTP, over MCP and in this process. */
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const CALLS = isRelease ? 6_700 : 100;
const TIMEOUT_MS = isRelease ? 3_600_000 : 180_000;

const USERS = ['alice', 'bob', 'acme', 'acme:1', 'acme:2', 'acme2:1', 'acme.x'];
const SPACES = ['acme', 'acme:docs', 'acme:docs:old', 'acme2:docs', 'docs', 'alice'];
const TOOLS = [
  'memory_list',
  'memory_read',
  'memory_find',
  'memory_context',
  'memory_write',
  'memory_patch',
] as const;
const WRITES: readonly string[] = ['memory_write', 'memory_patch'];

interface Rules {
  users?: string[];
  spaces?: string[];
  tools?: string[];
}
/** Of the keys; `null` is the key of the configuration. */
const RULES: (Rules | null)[] = [
  null,
  {},
  { spaces: ['*:write'] },
  { users: ['alice', 'acme:*'], spaces: ['acme:*:read', 'docs:write'] },
  { users: ['acme:*'], spaces: ['acme:*:write', 'acme:docs:*:read', 'acme:docs:read'] },
  { users: ['acme:1'], spaces: ['*:read'], tools: ['read'] },
  { spaces: ['*:read', 'acme:write'], tools: ['write', 'memory_find'] },
  { users: ['*'], spaces: ['acme2:*:write', 'alice:read'], tools: ['memory_find', 'memory_list'] },
];

/** What only the memory of one scope says: in its contents, headings, paths and catalog. */
const canaryOf = (root: string) => `canary-${Buffer.from(root).toString('hex')}-end`;
const ROOTS = [
  ...USERS.map((id) => `users/${id}`),
  ...SPACES.map((id) => `spaces/${id}`),
  'shared',
];

interface Call {
  rules: number;
  userId: string;
  spaces: NamedSpace[];
  tool: (typeof TOOLS)[number];
  /** `user`, `shared` or a space: what the path starts with. */
  root: string;
  /** For tools that take a prefix. */
  hasPath: boolean;
}

const anyCalls: fc.Arbitrary<Call> = fc.record({
  rules: fc.nat(RULES.length - 1),
  userId: fc.constantFrom(...USERS),
  spaces: fc.uniqueArray(
    fc.record({ id: fc.constantFrom(...SPACES), access: fc.constantFrom('read', 'write') }),
    { maxLength: 3, selector: ({ id }) => id },
  ),
  tool: fc.constantFrom(...TOOLS),
  root: fc.constantFrom('user', 'shared', ...SPACES.map((id) => `spaces/${id}`)),
  hasPath: fc.boolean(),
});

/** Half of them are about a space that the call names. */
const calls = fc.tuple(anyCalls, fc.boolean()).map(([call, isNamed]): Call => {
  const [space] = call.spaces;
  return isNamed && space !== undefined ? { ...call, root: `spaces/${space.id}` } : call;
});

/** Refused for this reason alone, which few random calls are. */
const READ_ONLY: Call = {
  rules: 0,
  userId: 'alice',
  spaces: [{ id: 'acme', access: 'read' }],
  tool: 'memory_write',
  root: 'spaces/acme',
  hasPath: true,
};

/** Whether a pattern means an id, in words of this test. */
const isMeant = (pattern: string, id: string) =>
  pattern === '*' ||
  pattern === id ||
  (pattern.at(-1) === '*' && id.indexOf(pattern.slice(0, -1)) === 0);

/** The most that a key gives in a space. */
function accessOf(rules: Rules | null, id: string): string {
  if (rules === null) return 'write';
  const entries = (rules.spaces ?? []).map((entry) => {
    const at = entry.lastIndexOf(':');
    return { pattern: entry.slice(0, at), access: entry.slice(at + 1) };
  });
  const exact = entries.find(({ pattern }) => pattern === id);
  const meant = entries.filter(({ pattern }) => isMeant(pattern, id));
  const longest = meant.sort((one, other) => other.pattern.length - one.pattern.length)[0];
  return (exact ?? longest)?.access ?? 'none';
}

/** The codes by which a call may be refused; none if it has to be done. */
function refusalsOf({ rules: index, userId, spaces, tool, root, hasPath }: Call): string[] {
  const rules = RULES[index] ?? null;
  const isWrite = WRITES.includes(tool);
  const refusals: string[] = [];
  const { users, tools } = rules ?? {};
  if (users !== undefined && !users.some((pattern) => isMeant(pattern, userId))) {
    refusals.push('USER_NOT_ALLOWED');
  }
  if (tools !== undefined && !tools.includes(tool) && !tools.includes(isWrite ? 'write' : 'read')) {
    refusals.push('TOOL_NOT_ALLOWED');
  }
  const isTooMuch = spaces.some(({ id, access }) => {
    const most = accessOf(rules, id);
    return most === 'none' || (access === 'write' && most === 'read');
  });
  const space = spaces.find(({ id }) => root === `spaces/${id}`);
  const takesPath = tool !== 'memory_context' && (hasPath || isWrite || tool === 'memory_read');
  const isUnnamed = takesPath && root.startsWith('spaces/') && space === undefined;
  if (isTooMuch || isUnnamed) refusals.push('SPACE_NOT_ALLOWED');
  if (isWrite && (root === 'shared' || space?.access === 'read')) refusals.push('READ_ONLY_SCOPE');
  return refusals;
}

function toArguments({ tool, root, hasPath }: Call): object {
  const prefix = hasPath ? { path: `${root}/` } : {};
  switch (tool) {
    case 'memory_list':
      return prefix;
    case 'memory_find':
      return { query: 'tea canary policy', limit: 50, ...prefix };
    case 'memory_context':
      return { query: 'tea canary policy' };
    case 'memory_read':
      return { path: `${root}/tea.md` };
    case 'memory_write':
      return { path: `${root}/written.md`, content: 'x\n' };
    case 'memory_patch':
      return { path: `${root}/patched.md`, append: { text: '- x' } };
  }
}

/** What came of a call: the code of an error, and all text of the answer. */
interface Outcome {
  code: string;
  text: string;
}

async function open() {
  const server = await serveCore({ plugins: [mcp()] });
  for (const root of ROOTS) {
    const canary = canaryOf(root);
    const content = `# Tea ${canary}\n\n- tea policy canary ${canary}\n- See [[${canary}.md]]\n`;
    for (const name of ['tea', canary, 'index', 'patched']) {
      await server.core.files.put(
        `${root}/${name}.md`,
        { content },
        { operator: null, address: null, traceId: null },
      );
    }
  }
  await server.core.indexer.drain();
  const keys: { text: string; apiKey: ApiKey | undefined }[] = [];
  for (const [index, rules] of RULES.entries()) {
    if (rules === null) {
      keys.push({ text: server.core.settings.apiKey?.[0] ?? '', apiKey: undefined });
      continue;
    }
    const body = { name: `key ${index}`, ...rules };
    const made = await server.request('POST', '/v1/admin/keys', { headers: asAdmin, body });
    const text = String(made.json.key);
    keys.push({ text, apiKey: (await server.core.access.known.find('tools', text)) as ApiKey });
  }
  return { server, keys };
}

async function overHttp(server: LiveServer, key: string, call: Call): Promise<Outcome> {
  const { userId, spaces, tool } = call;
  const { json, text } = await server.request('POST', `/v1/tools/${tool}/execute`, {
    headers: { authorization: `Bearer ${key}` },
    body: { context: { userId, spaces }, arguments: toArguments(call) },
  });
  return { code: json.error?.code ?? 'ok', text };
}

async function overMcp(server: LiveServer, key: string, call: Call): Promise<Outcome> {
  const { userId, spaces, tool } = call;
  const { json, text } = await server.request('POST', '/v1/mcp', {
    headers: {
      authorization: `Bearer ${key}`,
      'x-user-id': userId,
      'x-spaces': spaces.map(({ id, access }) => `${id}:${access}`).join(', '),
      accept: 'application/json, text/event-stream',
    },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: tool, arguments: toArguments(call) },
    },
  });
  const [, code] = /"code\\?":\s*\\?"([A-Z_]+)\\?"/.exec(text) ?? [];
  return { code: json.error?.data?.code ?? code ?? 'ok', text };
}

async function inProcess(
  { core }: LiveServer,
  apiKey: ApiKey | undefined,
  call: Call,
): Promise<Outcome> {
  const { userId, spaces, tool } = call;
  const request = { context: { userId, spaces }, arguments: toArguments(call) };
  try {
    const { result } = await core.tools.execute(tool, {
      ...request,
      ...(apiKey === undefined ? {} : { apiKey }),
    });
    return { code: 'ok', text: JSON.stringify(result) };
  } catch (error) {
    const { code } = toMemoryError(error);
    return { code, text: JSON.stringify(toErrorBody(toMemoryError(error))) };
  }
}

describe('every key, user, space and tool', () => {
  it(
    'gets what the key and the call allow, and shows nothing of any other memory',
    { timeout: TIMEOUT_MS },
    async () => {
      const { server, keys } = await open();
      const seen = new Set<string>();
      await fc.assert(
        fc.asyncProperty(calls, async (call) => {
          const { text: key, apiKey } = keys[call.rules] ?? { text: '', apiKey: undefined };
          const refusals = refusalsOf(call);
          const own = [
            `users/${call.userId}`,
            'shared',
            ...call.spaces.map(({ id }) => `spaces/${id}`),
          ];
          const hidden = ROOTS.filter((root) => !own.includes(root)).map(canaryOf);
          for (const [way, { code, text }] of Object.entries({
            http: await overHttp(server, key, call),
            mcp: await overMcp(server, key, call),
            here: await inProcess(server, apiKey, call),
          })) {
            seen.add(code);
            if (refusals.length === 0) expect([way, code]).toEqual([way, 'ok']);
            else
              expect([way, refusals.includes(code) ? 'refused' : code]).toEqual([way, 'refused']);
            const shown = refusals.length === 0 ? hidden : ROOTS.map(canaryOf);
            expect([way, shown.filter((canary) => text.includes(canary))]).toEqual([way, []]);
          }
        }),
        { numRuns: CALLS, examples: [[READ_ONLY]] },
      );
      expect([...seen].sort()).toEqual([
        'READ_ONLY_SCOPE',
        'SPACE_NOT_ALLOWED',
        'TOOL_NOT_ALLOWED',
        'USER_NOT_ALLOWED',
        'ok',
      ]);
      const { text: metrics } = await server.request('GET', '/metrics', { headers: asAdmin });
      expect(ROOTS.map(canaryOf).filter((canary) => metrics.includes(canary))).toEqual([]);
      for (const id of ['acme:docs', 'acme2:1', 'acme.x']) expect(metrics).not.toContain(id);
    },
  );
});
