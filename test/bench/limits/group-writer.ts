import { randomUUID } from 'node:crypto';
import { connect, PRAGMAS } from './database.ts';

export interface Write {
  userId: string;
  path: string;
  content: string;
  revisionId: string;
}

/** Writes files with a revision and an access row each. */
export interface GroupWriter {
  /** Resolves with the file's new version, after the commit. */
  write(write: Write): Promise<number>;
  close(): Promise<void>;
}

/** As many writes as wait share a commit, up to this. */
const GROUP = 64;

/** Group commit on one asynchronous `sqlite3` connection: the writes of a group share an fsync. */
export async function createGroupWriter(filename: string): Promise<GroupWriter> {
  const connection = await connect(filename);
  await connection.exec(PRAGMAS);
  const readVersion = await connection.prepare(
    'select version, content from file where user_id = ? and path = ?',
  );
  const writeFile = await connection.prepare(
    `insert into file values (?, ?, ?, ?, ?) on conflict (user_id, path) do update
     set version = excluded.version, updated_at = excluded.updated_at, content = excluded.content`,
  );
  const writeRevision = await connection.prepare('insert into revision values (?,?,?,?,?,?,?)');
  const writeAccess = await connection.prepare('insert into access_log values (?,?,?,?,?,?)');
  const begin = await connection.prepare('begin immediate');
  const commit = await connection.prepare('commit');

  type Waiting = Write & { resolve(version: number): void; reject(error: unknown): void };
  let waiting: Waiting[] = [];
  let isWriting = false;

  // One statement at a time: un-awaited ones on one connection arrive out of order.
  async function apply({ userId, path, content, revisionId }: Write): Promise<number> {
    const now = Date.now();
    const before = await readVersion.get(userId, path);
    const version = Number(before?.['version'] ?? 0) + 1;
    await writeFile.run(userId, path, version, now, content);
    const former = before?.['content'] ?? '';
    await writeRevision.run(revisionId, userId, path, version, 'agent', now, former);
    await writeAccess.run(randomUUID(), now, userId, path, 'agent', 'write');
    return version;
  }

  async function drain(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting.slice(0, GROUP);
      waiting = waiting.slice(group.length);
      try {
        await begin.run();
        const versions: number[] = [];
        for (const write of group) versions.push(await apply(write));
        await commit.run();
        group.forEach(({ resolve }, index) => resolve(versions[index] ?? 0));
      } catch (error) {
        await connection.exec('rollback').catch(() => undefined);
        for (const { reject } of group) reject(error);
      }
    }
    isWriting = false;
  }

  return {
    write: (write) =>
      new Promise((resolve, reject) => {
        waiting.push({ ...write, resolve, reject });
        // In the next turn of the loop, so that all who ask in this one are in the group.
        if (!isWriting) {
          isWriting = true;
          setImmediate(() => void drain());
        }
      }),
    async close() {
      const statements = [readVersion, writeFile, writeRevision, writeAccess, begin, commit];
      for (const statement of statements) await statement.finalize();
      await connection.close();
    },
  };
}
