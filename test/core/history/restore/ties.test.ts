import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openCarrier } from '../../../support/carrier.ts';
import { call } from '../../../support/service.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const lines = (...texts: string[]) => texts.map((text) => `${text}\n`).join('');
const A = 'users/alice/a.md';
const B = 'users/alice/b.md';

/** Memory of alice, on a clock that goes on with each change. */
async function open() {
  const { core, clock, host } = await openCarrier();
  /** Ends a second, and returns its time. */
  const tick = () => {
    const at = new Date(clock.now()).toISOString();
    clock.advance(1_000);
    return at;
  };
  return {
    core,
    tick,
    async write(path: string, content: string) {
      await call(core, 'alice', 'memory_write', { path: `user/${path}`, content });
      return tick();
    },
    async move(from: string, to: string) {
      await call(core, 'alice', 'memory_move', { from: `user/${from}`, to: `user/${to}` });
      return tick();
    },
    /** One call that writes several files; paths are virtual. */
    async carry(contents: Record<string, string>) {
      const changes = Object.entries(contents).map(([path, content]) => ({
        scope: 'u:alice' as const,
        path,
        content,
        reason: 'Carries lines.',
      }));
      await host.write(changes, { actor: 'mover', runId: randomUUID() });
      return tick();
    },
    /** What a preview and then the restore say of each file: both the same. */
    async restore(at: string, path?: string) {
      const request = { at, ...(path !== undefined && { path }) };
      const owner = { userId: 'alice' };
      const whys = (answer: Awaited<ReturnType<typeof core.restores.restore>>) =>
        Object.fromEntries(answer.files.map((file) => [file.path, file.why]));
      const preview = await core.restores.restore(owner, { ...request, dryRun: true }, operator);
      const answer = await core.restores.restore(owner, request, operator);
      expect(whys(answer)).toEqual(whys(preview));
      tick();
      return whys(answer);
    },
    contentOf: async (path: string) =>
      (await core.fileLists.file(path, {}).catch(() => null))?.file.content ?? null,
  };
}

/** A call carried "nuts" from a.md to b.md; `at` is the time before it. */
async function openCarried() {
  const opened = await open();
  await opened.write('a.md', lines('- tea', '- nuts'));
  const at = await opened.write('b.md', lines('# Food'));
  await opened.carry({
    'user/a.md': lines('- tea'),
    'user/b.md': lines('# Food', '* nuts'),
  });
  return { ...opened, at };
}

describe('a restore', () => {
  it('says that lines come back which another file keeps, and which one', async () => {
    const { restore, at, contentOf } = await openCarried();
    expect(await restore(at, A)).toEqual({
      [A]: `Lines that come back here stand in ${B}, too.`,
    });
    expect(await contentOf(A)).toBe(lines('- tea', '- nuts'));
    expect(await contentOf(B)).toBe(lines('# Food', '* nuts'));
  });

  it('says that lines go which another file does not get back, and which one', async () => {
    const { restore, at, contentOf } = await openCarried();
    expect(await restore(at, B)).toEqual({
      [B]: `Lines that go from here came from ${A}, and do not come back there.`,
    });
    expect(await contentOf(A)).toBe(lines('- tea'));
    expect(await contentOf(B)).toBe(lines('# Food'));
  });

  it('says nothing where both files are restored, whatever was written since', async () => {
    const { restore, at, write, contentOf } = await openCarried();
    await write('b.md', lines('# Food', '* nuts', '* fish'));
    await write('c.md', lines('- nuts'));
    expect(await restore(at)).toEqual({
      [A]: null,
      [B]: null,
      'users/alice/c.md': null,
    });
    expect(await contentOf(A)).toBe(lines('- tea', '- nuts'));
    expect(await contentOf(B)).toBe(lines('# Food'));
  });

  it('says nothing where the other file lost the lines again, or has them again', async () => {
    const { restore, at, write } = await openCarried();
    await write('b.md', lines('# Food', '- fish'));
    expect(await restore(at, A)).toEqual({ [A]: null });
    // The first file has them again by now.
    expect(await restore(at, B)).toEqual({ [B]: null });
  });

  it('says it where the history of the other file is pruned, so that it stays', async () => {
    const { core, restore, at } = await openCarried();
    await core.revisions.prune({ keepLast: 1, path: B }, operator);
    expect(await restore(at)).toEqual({
      [A]: `Lines that come back here stand in ${B}, too.`,
      [B]: 'Its history of that time is pruned.',
    });
  });

  it('says it of the other memory of a call, and finds a file that was moved since', async () => {
    const { core, tick, write, carry, move, restore } = await open();
    await core.files.put('shared/food.md', { content: lines('# Food') }, operator);
    tick();
    await write('b.md', lines('# B'));
    const at = await write('a.md', lines('- tea', '- nuts', '- rice'));
    await carry({ 'user/a.md': lines('- tea', '- rice'), 'shared/food.md': lines('- nuts') });
    await carry({ 'user/a.md': lines('- tea'), 'user/b.md': lines('# B', '- rice') });
    await move('b.md', 'c.md');
    expect(await restore(at, A)).toEqual({
      [A]: 'Lines that come back here stand in shared/food.md, users/alice/c.md, too.',
    });
  });

  it('says it of the other path of a move', async () => {
    const folder = 'users/alice/sub/';
    const openMoved = async () => {
      const opened = await open();
      await opened.write('sub/old.md', 'old\n');
      const at = await opened.write('a.md', lines('- tea', '- nuts'));
      await opened.move('a.md', 'sub/b.md');
      return { ...opened, at };
    };
    const one = await openMoved();
    expect(await one.restore(one.at, A)).toEqual({
      [A]: `Lines that come back here stand in ${folder}b.md, too.`,
    });
    // By now they stand in both: nothing is lost.
    expect(await one.restore(one.at, folder)).toEqual({ [`${folder}b.md`]: null });
    expect(await one.contentOf(A)).toBe(lines('- tea', '- nuts'));
    const other = await openMoved();
    expect(await other.restore(other.at, folder)).toEqual({
      [`${folder}b.md`]: `Lines that go from here came from ${A}, and do not come back there.`,
    });
    expect(await other.contentOf(`${folder}b.md`)).toBeNull();
  });
});
