import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const write = (core: Core, userId: string, path: string, content: string) =>
  call<WriteResult>(core, userId, 'memory_write', { path, content }).then((a) => a.result);
const read = async (core: Core, userId: string, path: string) =>
  (await call<{ content: string; version: number }>(core, userId, 'memory_read', { path })).result;

describe('memory_patch', () => {
  it('keeps all of 100 concurrent appends to one file', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', '');
    const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
    const answers = await Promise.all(
      lines.map((text) =>
        call(core, 'alice', 'memory_patch', { path: 'user/a.md', append: { text } }),
      ),
    );
    const { content, version } = await read(core, 'alice', 'user/a.md');
    expect(version).toBe(101);
    expect(content.trimEnd().split('\n').sort()).toEqual([...lines].sort());
    const versions = answers.map(({ result }) => result['version'] as number);
    expect(versions.sort((a, b) => a - b)).toEqual(lines.map((_, n) => n + 2));
  });

  it('applies as a whole or not at all', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', 'tea\nmilk\ntea\n');
    const refused = async (patch: object) =>
      rejection(call(core, 'alice', 'memory_patch', { path: 'user/a.md', ...patch }));
    const missing = await refused({
      edits: [
        { oldText: 'milk', newText: 'oats' },
        { oldText: 'coffee', newText: 'x' },
      ],
    });
    expect(missing).toMatchObject({ code: 'PATCH_NOT_FOUND', status: 422, details: { edit: 1 } });
    const twice = await refused({ edits: [{ oldText: 'tea', newText: 'x' }] });
    expect(twice).toMatchObject({
      code: 'PATCH_AMBIGUOUS',
      details: { matches: 2, lines: [1, 3] },
    });
    expect((await refused({})).code).toBe('INVALID_REQUEST');
    expect(await read(core, 'alice', 'user/a.md')).toMatchObject({
      content: 'tea\nmilk\ntea\n',
      version: 1,
    });
  });

  it('is refused, and changes nothing, when its edits replace too much', async () => {
    const core = await openCore();
    const flips = (one: string, other: string) =>
      Array.from({ length: 100 }, (_, n) => ({
        oldText: n % 2 === 0 ? one : other,
        newText: n % 2 === 0 ? other : one,
        replaceAll: true,
      }));
    const letters = 'a'.repeat(262_144);
    const lines = 'x\n'.repeat(131_072);
    for (const [content, edits] of [
      [letters, flips('a', 'b')],
      [lines, flips('x\n', 'y\n')],
    ] as const) {
      await write(core, 'alice', 'user/a.md', content);
      const before = await read(core, 'alice', 'user/a.md');
      const attempt = call(core, 'alice', 'memory_patch', { path: 'user/a.md', edits });
      expect(await rejection(attempt)).toMatchObject({
        code: 'WORK_LIMIT_EXCEEDED',
        status: 422,
        retryable: false,
        message: expect.stringMatching(/Split the patch/) as string,
        details: { limit: 'patchSteps', max: 2 ** 24 },
      });
      expect(await read(core, 'alice', 'user/a.md')).toEqual(before);
    }
  });

  it('takes 100 line edits, and one edit of all letters, of the largest file', async () => {
    const core = await openCore();
    const lines = Array.from({ length: 40_000 }, (_, n) => n.toString(36));
    await write(core, 'alice', 'user/a.md', lines.join('\n'));
    const edits = Array.from({ length: 100 }, (_, n) => ({
      oldText: `\n${lines[400 * n + 7]}\n`,
      newText: `\nline ${n}\n`,
    }));
    const patched = await call(core, 'alice', 'memory_patch', { path: 'user/a.md', edits });
    expect(patched.result).toMatchObject({ version: 2, replacements: 100 });
    const { content } = await read(core, 'alice', 'user/a.md');
    expect(content.split('\n')).toEqual(
      lines.map((line, n) => (n % 400 === 7 ? `line ${(n - 7) / 400}` : line)),
    );
    await write(core, 'alice', 'user/b.md', 'a'.repeat(262_144));
    const all = { oldText: 'a', newText: 'b', replaceAll: true };
    await call(core, 'alice', 'memory_patch', { path: 'user/b.md', edits: [all] });
    expect((await read(core, 'alice', 'user/b.md')).content).toBe('b'.repeat(262_144));
  });

  it('of a file that does not exist is a 404 and creates nothing', async () => {
    const core = await openCore();
    const attempt = call(core, 'alice', 'memory_patch', {
      path: 'user/a.md',
      append: { text: 'x' },
    });
    expect(await rejection(attempt)).toMatchObject({ code: 'FILE_NOT_FOUND', status: 404 });
    expect((await call(core, 'alice', 'memory_list', {})).result['files']).toEqual([]);
  });
});
