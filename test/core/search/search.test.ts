import { expect, it } from 'vitest';
import type { FoundPassage } from '../../../core/contracts/tool.ts';
import { gateIndex } from '../../support/gated-index.ts';
import { call, makeStorage, openCore } from '../../support/service.ts';

const FILES = 240;
/** More than a storage has connections to read with. */
const FINDS = 12;

it('answers others while the memory of one user is made anew, however many finds wait for it', async () => {
  // Closed: nothing of what is written is ever indexed.
  const core = await openCore({ storage: gateIndex(await makeStorage()).storage });
  const text = (n: number) =>
    Array.from({ length: 60 }, (_, line) => `- tea number${n} of line${line} and cups\n`).join('');
  for (let at = 0; at < FILES; at += 24) {
    await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        call(core, 'large', 'memory_write', { path: `user/${at + n}.md`, content: text(at + n) }),
      ),
    );
  }
  await call(core, 'small', 'memory_write', { path: 'user/a.md', content: 'green tea\n' });
  const order: string[] = [];
  const note = async <T>(name: string, answer: Promise<T>): Promise<T> => {
    const given = await answer;
    order.push(name);
    return given;
  };
  const find = async (user: string, query: string) =>
    (await call<{ results: FoundPassage[] }>(core, user, 'memory_find', { query })).result.results;
  const large = Array.from({ length: FINDS }, (_, n) =>
    note('large', find('large', `number${n} line7`)),
  );
  const small = [
    note('read', call(core, 'small', 'memory_read', { path: 'user/a.md' })),
    note('write', call(core, 'small', 'memory_write', { path: 'user/b.md', content: 'tea\n' })),
    note('find', find('small', 'green')),
  ];
  await Promise.all([...large, ...small]);
  expect(order.slice(0, 3).toSorted()).toEqual(['find', 'read', 'write']);
  for (const [n, found] of (await Promise.all(large)).entries()) {
    expect(found[0]).toMatchObject({ path: `user/${n}.md`, startLine: 8 });
  }
});
