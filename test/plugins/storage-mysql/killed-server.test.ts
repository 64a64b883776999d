import { expect, it, onTestFinished } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { write } from '../../../core/testing/rows.ts';
import { mysql } from '../../../plugins/storage-mysql/index.ts';
import { createDatabase, type Mariadb, startMariadb } from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const KILLS = isRelease ? 100 : 2;
const WRITERS = 8;
const WRITES_BETWEEN = 15;

it(
  'a MariaDB that is killed again and again loses no write that was acknowledged (F6)',
  { timeout: KILLS * 60_000 },
  async () => {
    let server: Mariadb = await startMariadb();
    onTestFinished(() => server.remove());
    const { port, directory } = server;
    const storage = mysql({ url: await createDatabase(port) });
    onTestFinished(() => storage.close());
    await storage.init({ log: quiet, now: Date.now });

    const acknowledged = new Map<string, string[]>();
    let isOver = false;
    let onWrite: () => void = () => undefined;
    const writeOn = async (path: string) => {
      const lines: string[] = [];
      acknowledged.set(path, lines);
      for (let at = 0; !isOver; at += 1) {
        const line = `${path} ${at}`;
        const key = { scope: 'u:alice', path } as const;
        try {
          await write(storage, key, (before) => `${before ?? ''}${line}\n`);
          lines.push(line);
          onWrite();
        } catch (error) {
          if (!(error instanceof MemoryError) || !error.retryable) throw error;
        }
      }
    };
    const writers = Array.from({ length: WRITERS }, (_, at) => writeOn(`${at}.md`));
    const someWrites = () =>
      new Promise<void>((resolve) => {
        let left = WRITES_BETWEEN;
        onWrite = () => {
          left -= 1;
          if (left === 0) resolve();
        };
      });
    for (let kill = 0; kill < KILLS; kill += 1) {
      await Promise.race([someWrites(), Promise.all(writers)]);
      await server.end('SIGKILL');
      server = await startMariadb({ directory, port });
    }
    // It heals by itself: writes go on after the last start too.
    await Promise.race([someWrites(), Promise.all(writers)]);
    isOver = true;
    await Promise.all(writers);

    for (const [path, lines] of acknowledged) {
      const file = await storage.files.get({ scope: 'u:alice', path });
      const kept = file?.content?.split('\n').slice(0, -1) ?? [];
      // What was not acknowledged may be there, once; what was, is there, in its order.
      expect(new Set(kept).size).toBe(kept.length);
      expect(kept.filter((line) => lines.includes(line))).toEqual(lines);
      expect([file?.version, file?.revisions]).toEqual([kept.length, kept.length]);
    }
  },
);
