import type { Connection, Outcome } from '../../core/plugin.ts';
import type { Connections, Session, UseOptions } from './connections.ts';
import { classifyMysqlError } from './dialect.ts';

/** Runs a transaction once, on a connection of its own. Never rejects. */
export async function transactOn<T>(
  connections: Connections,
  run: (connection: Connection) => Promise<T>,
  options: Pick<UseOptions, 'until' | 'statementTimeoutMs'>,
): Promise<Outcome<T>> {
  try {
    return await connections.use((session) => runOnce(session, run), options);
  } catch (error) {
    return { status: 'failed', error, isUnknown: false };
  }
}

/** Runs a transaction once. It is rolled back if `run` throws. */
async function runOnce<T>(
  session: Session,
  run: (connection: Connection) => Promise<T>,
): Promise<Outcome<T>> {
  let result: T;
  await session.command('start transaction');
  try {
    result = await run(session);
  } catch (error) {
    await session.command('rollback').catch(() => undefined);
    return { status: 'failed', error, isUnknown: false };
  }
  try {
    await session.command('commit');
  } catch (error) {
    // A transaction that stayed open would be committed by the next one on this connection.
    await session.command('rollback').catch(() => undefined);
    return { status: 'failed', error, isUnknown: !isRefusedCommit(error) };
  }
  return { status: 'done', result };
}

/** Whether the server said that it committed nothing. */
function isRefusedCommit(error: unknown): boolean {
  return ['conflict', 'full'].includes(classifyMysqlError(error));
}
