import { describe, expect, it } from 'vitest';
import { asAgent, serveCore } from './serve.ts';

type Request = Awaited<ReturnType<typeof serveCore>>['request'];

/** Every user, space, access and tool over HTTP, with what is to come of it. */
const USERS = ['alice', 'bob'];
const SPACES = ['acme', 'acme2', 'docs', 'none'];
const CALLS: [tool: string, isWrite: boolean, args: (path: string) => object][] = [
  ['memory_read', false, (path) => ({ path })],
  ['memory_list', false, (path) => ({ path })],
  ['memory_find', false, (path) => ({ query: 'tea', path })],
  ['memory_write', true, (path) => ({ path, content: 'tea\n' })],
  ['memory_patch', true, (path) => ({ path, append: { text: 'tea' } })],
];

async function execute(request: Request, tool: string, context: object, args: object) {
  const { status, json } = await request('POST', `/v1/tools/${tool}/execute`, {
    headers: asAgent,
    body: { context, arguments: args },
  });
  return { status, json };
}

async function seed(request: Request): Promise<void> {
  for (const id of ['acme', 'acme2', 'docs']) {
    const context = { userId: 'seed', spaces: [{ id, access: 'write' }] };
    const path = `spaces/${id}/tea.md`;
    const { status } = await execute(request, 'memory_write', context, { path, content: 'tea\n' });
    expect(status).toBe(200);
  }
}

describe('spaces over HTTP', () => {
  it('give each user, space, access and tool what the call names, and nothing else', async () => {
    const { request } = await serveCore();
    await seed(request);
    const holes: unknown[] = [];
    for (const userId of USERS) {
      for (const named of SPACES) {
        for (const access of ['read', 'write']) {
          for (const asked of SPACES) {
            for (const [tool, isWrite, args] of CALLS) {
              const context = { userId, spaces: [{ id: named, access }] };
              const path = `spaces/${asked}/tea.md`;
              const { status, json } = await execute(request, tool, context, args(path));
              const code = json.error?.code ?? 'ok';
              const isAbsent =
                asked === 'none' && (tool === 'memory_read' || tool === 'memory_patch');
              // A space that was never written, and is written here, exists from then on.
              const wanted =
                named !== asked
                  ? ['SPACE_NOT_ALLOWED']
                  : isWrite && access === 'read'
                    ? ['READ_ONLY_SCOPE']
                    : isAbsent
                      ? ['FILE_NOT_FOUND', 'ok']
                      : ['ok'];
              if (!wanted.includes(code)) holes.push({ named, access, asked, tool, code });
              if (code !== 'ok' && status === 200) holes.push({ tool, status });
            }
          }
        }
      }
    }
    expect(holes).toEqual([]);
  });

  it('are refused in a form that the schema does not take', async () => {
    const { request } = await serveCore();
    for (const spaces of [
      'acme:read',
      [{ id: 'acme' }],
      [
        { id: 'acme', access: 'read' },
        { id: 'acme', access: 'write' },
      ],
      Array.from({ length: 17 }, (_, at) => ({ id: `s${at}`, access: 'read' })),
    ]) {
      const { status, json } = await execute(
        request,
        'memory_list',
        { userId: 'alice', spaces },
        {},
      );
      expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    }
  });
});
