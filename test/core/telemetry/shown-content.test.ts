import { expect, it } from 'vitest';
import { withRawSql } from '../../support/raw-sql.ts';
import { call, openCore, temporaryDatabase } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

it('shows no content of a damaged revision, and all of the others', async () => {
  const filename = await temporaryDatabase();
  const core = await openCore({ storage: sqlite({ filename }) });
  const write = (content: string) =>
    call(core, 'alice', 'memory_write', { path: 'user/a.md', content });
  const read = () => call(core, 'alice', 'memory_read', { path: 'user/a.md' });
  const shownTo = async (toolCallId: string) => {
    const { shown } = await core.traces.toolCall(toolCallId);
    return shown.flatMap(({ lines }) => lines?.map(({ content }) => content));
  };
  await write('one\n');
  const first = await read();
  await write('two\n');
  const second = await read();
  await write('three\n');
  expect(await shownTo(first.toolCallId)).toEqual(['one\n']);
  await withRawSql(filename, 'sqlite3', (raw) =>
    raw.run('update svc_revision set delta = zeroblob(9), keyframe = null where version = 2', []),
  );
  expect(await shownTo(first.toolCallId)).toEqual([null]);
  expect(await shownTo(second.toolCallId)).toEqual(['two\n']);
});
