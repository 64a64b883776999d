import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const everyTool = { delete: true, move: true };
const write = (core: Core, userId: string, path: string, content: string) =>
  call<WriteResult>(core, userId, 'memory_write', { path, content }).then((a) => a.result);

describe('memory_list', () => {
  it('pages both roots by path without a file twice or left out', async () => {
    const core = await openCore({ sharedWrites: true });
    const paths = [
      ...['a.md', 'a/b.md', 'ab.md', 'é.md', 'z.md'].map((name) => `shared/${name}`),
      ...['A.md', 'a.md', 'a-b.md', 'a/b.md', 'b/c/d.md', '😀.md'].map((name) => `user/${name}`),
    ];
    for (const path of [...paths].reverse()) await write(core, 'alice', path, path);
    await write(core, 'bob', 'user/not-hers.md', 'x');
    for (const limit of [1, 2, 3, 5, 6, 11, 500]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const { result }: { result: { files: { path: string }[]; nextCursor: string | null } } =
          await call(core, 'alice', 'memory_list', {
            limit,
            ...(cursor === null ? {} : { cursor }),
          });
        expect(result.files.length).toBeLessThanOrEqual(limit);
        seen.push(...result.files.map(({ path }) => path));
        cursor = result.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(
        [...paths].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
    }
    const { result } = await call(core, 'alice', 'memory_list', { path: 'user/a' });
    expect((result['files'] as { path: string }[]).map(({ path }) => path)).toEqual([
      'user/a-b.md',
      'user/a.md',
      'user/a/b.md',
    ]);
  });

  it('leaves out deleted files', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'x');
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    expect((await call(core, 'alice', 'memory_list', {})).result['files']).toEqual([]);
    expect((await core.fileLists.files({})).items).toEqual([]);
    expect((await rejection(core.fileLists.file('users/alice/a.md', {}))).code).toBe(
      'FILE_NOT_FOUND',
    );
    const earlier = await core.fileLists.file('users/alice/a.md', { version: 1 });
    expect(earlier.file).toMatchObject({ content: 'x', version: 1, size: 1 });
  });
});
