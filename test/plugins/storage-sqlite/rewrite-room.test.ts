import { join } from 'node:path';
import { expect, it } from 'vitest';
import { assertRoomToRewrite } from '../../../plugins/storage-sqlite/rewrite-room.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDirectory } from '../../support/service.ts';

it('finds out before a rewriting whether there is room for it', async () => {
  const filename = join(await temporaryDirectory(), 'memory.db');
  await assertRoomToRewrite(filename, 4_096);
  const error = await rejection(assertRoomToRewrite(filename, 2 ** 50));
  expect(error).toMatchObject({ code: 'STORAGE_FULL', retryable: true });
  expect(error.message).toMatch(/^To rewrite the database file, \d{16} free bytes are needed in /);
  expect(error.message).toMatch(/ and \d+ are there: make room, and it goes on by itself\.$/);
});
