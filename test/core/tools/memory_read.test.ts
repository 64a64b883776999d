import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const write = (core: Core, userId: string, path: string, content: string) =>
  call<WriteResult>(core, userId, 'memory_write', { path, content }).then((a) => a.result);

describe('memory_read', () => {
  it('gives a range of lines, and says how many there are', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', 'one\ntwo\nthree');
    const lines = async (range: object) =>
      (await call(core, 'alice', 'memory_read', { path: 'user/a.md', ...range })).result;
    expect(await lines({})).toMatchObject({ content: 'one\ntwo\nthree', totalLines: 3 });
    expect(await lines({ startLine: 2, endLine: 2 })).toMatchObject({ content: 'two\n' });
    expect(await lines({ startLine: 3 })).toMatchObject({ content: 'three', totalLines: 3 });
    expect(await lines({ startLine: 4 })).toMatchObject({ content: '' });
    expect(await lines({ endLine: 99 })).toMatchObject({ content: 'one\ntwo\nthree' });
    expect((await rejection(lines({ startLine: 3, endLine: 2 }))).code).toBe('INVALID_REQUEST');
  });
});
