import { expect, it } from 'vitest';
import { seededRandom } from '../../support/workload.ts';
import { asAdmin, asAgent, serveCore } from './serve.ts';

/** Parts of paths: plain ones, and what has ever led out of a directory. */
const PARTS = [
  ...['a.md', 'notes', 'B', 'é', '茶.md', 'x y', 'a+b', 'a&b=c', '#1', ';', '~', '$HOME', '-rf'],
  ...['..', '.', '...', '%2e%2e', '%252e%252e', '%2f', '%5c', '..%5c', '%00', '%c0%ae', '%ff'],
  ...['．．', '․․', '‥', '。', '／', '＼', '\\', 'e\u0301', '\u202e', '\u200b', '\0', '\u007f'],
  ...['a.', 'a ', ' a', 'con:', 'a|b', '<b>', '"', '*', '?', 'users', 'shared', 'bob', 'alice'],
  ...['', 'x'.repeat(256), 'x'.repeat(255), '../../etc/passwd', 'users/bob/a.md', '//', '\ud800'],
];
const ROOTS = ['user/', 'user/', 'user/', 'shared/', 'users/bob/', 'User/', '/user/', 'user//', ''];
const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 300 : 100_000;

function fuzzedPaths(seed: number): () => string {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  return () => {
    const length = 1 + Math.floor(random() * (random() < 0.02 ? 40 : 3));
    const parts = Array.from({ length }, () => pick(PARTS));
    return pick(ROOTS) + parts.join(random() < 0.9 ? '/' : '');
  };
}

interface Listed {
  items: readonly { path: string }[];
  nextCursor: string | null;
}

/** Whether a path is one, of what these parts can make: by the words of the contract. */
function isPath(path: string): boolean {
  const segments = path.split('/');
  return (
    path.isWellFormed() &&
    path.normalize('NFC') === path &&
    Buffer.byteLength(path) <= 1024 &&
    segments.length <= 20 &&
    segments.every(
      (segment) =>
        segment !== '' &&
        Buffer.byteLength(segment) <= 255 &&
        segment.trim() === segment &&
        !segment.endsWith('.') &&
        !/[\\:*?"<>|%\p{Cc}\p{Cf}]/u.test(segment) &&
        !/^\.{1,2}$|[/\\]/.test(segment.normalize('NFKC')),
    )
  );
}

const isVirtual = (path: string) => /^(?:user|shared)\//.test(path) && isPath(afterRoot(path));
const isPhysical = (path: string) =>
  path.startsWith('shared/')
    ? isPath(path.slice(7))
    : /^users\/(?:alice|bob)\//.test(path) && isPath(afterRoot(afterRoot(path)));
const afterRoot = (path: string) => path.slice(path.indexOf('/') + 1);

it(
  'takes a fuzzed path as it is or refuses it, over HTTP and in process, and touches nothing else (T1)',
  { timeout: 300_000 },
  async () => {
    const service = await serveCore({ sharedWrites: true });
    const { core } = service;
    const taken = new Set<string>();
    const refused = new Set<string>();
    function note(path: string, isTaken: boolean, isExpected: boolean, name: unknown): void {
      expect(isTaken, JSON.stringify(path)).toBe(isExpected);
      // Nothing is repaired: what was written has the very name that was asked for.
      if (isTaken) expect(name).toBe(path);
      (isTaken ? taken : refused).add(path.replace(/^user\//, 'users/alice/'));
    }

    const nextOfTool = fuzzedPaths(1);
    for (let run = 0; run < RUNS; run += 1) {
      const path = nextOfTool();
      const request = { context: { userId: 'alice' }, arguments: { path, content: 'x' } };
      const outcome = await core.tools.execute('memory_write', request).then(
        ({ result }) => ({ status: 200, path: (result as { path: string }).path }),
        ({ status }: { status: number }) => ({ status, path: null }),
      );
      expect([200, 400]).toContain(outcome.status);
      note(path, outcome.status === 200, isVirtual(path), outcome.path);
    }

    const nextOfHttp = fuzzedPaths(2);
    for (let run = 0; run < RUNS / 2; run += 1) {
      const path = nextOfHttp();
      const body = { context: { userId: 'alice' }, arguments: { path, content: 'x' } };
      const target = '/v1/tools/memory_write/execute';
      const { status, json } = await service.request('POST', target, { body, headers: asAgent });
      expect([200, 400]).toContain(status);
      note(path, status === 200, isVirtual(path), json.result?.path);
    }

    const nextOfAdmin = fuzzedPaths(3);
    for (let run = 0; run < RUNS / 2; run += 1) {
      const path = nextOfAdmin().replace(/^user\//, 'users/alice/');
      if (!path.isWellFormed()) continue;
      // With each character escaped, slashes too, or as it is where a request line can have it so.
      const isEscaped = run % 2 === 0 || /[^!-~]|[#?%]/.test(path);
      const target = `/v1/admin/files/${isEscaped ? encodeURIComponent(path) : path}`;
      const body = { content: 'x' };
      const { status, json } = await service.request('PUT', target, { body, headers: asAdmin });
      expect([200, 201, 400, 404], target).toContain(status);
      note(path, status < 300, isPhysical(path), json.file?.path);
    }

    expect(Math.min(taken.size, refused.size)).toBeGreaterThan(RUNS / 50);
    const seen = new Set<string>();
    for (const list of [core.fileLists.files, core.accessLog.list]) {
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: Listed = await list({ limit: 500, ...(cursor === '' ? {} : { cursor }) });
        for (const { path } of page.items) seen.add(path);
        cursor = page.nextCursor;
      }
    }
    // Neither a file nor an access row of any other name, and none of these is missing.
    expect([...seen].sort()).toEqual([...taken].sort());
  },
);
