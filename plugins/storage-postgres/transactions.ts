import type { Connection, Outcome } from '../../core/plugin.ts';
import type { Connections, Session, UseOptions } from './connections.ts';
import { classifyPostgresError } from './errors.ts';

/** The limits of a transaction, which the server keeps too, should this process be stopped. */
export interface TransactionLimits {
  lockTimeoutMs: number;
  statementTimeoutMs: number;
}

/**
 * The begin of a write, as one message. Its settings end with it, so that a pooler can give the
 * connection to somebody else.
 *
 * Read committed is enough, because what a write depends on is locked and then read: each statement
 * sees what was committed before it. A stricter isolation would fail writes to shared rows, again
 * and again, that only had to wait.
 */
export function beginWrite({ lockTimeoutMs, statementTimeoutMs }: TransactionLimits): string {
  return (
    'begin isolation level read committed;' +
    ` set local lock_timeout = ${lockTimeoutMs};` +
    ` set local statement_timeout = ${statementTimeoutMs};` +
    // Otherwise an instance that stops in the middle of a write would block its user until it
    // continues. Nothing is committed by then, and the write starts over when it continues.
    ` set local idle_in_transaction_session_timeout = ${statementTimeoutMs}`
  );
}

/** The begin of reads that all see what the first one sees. */
export const BEGIN_SNAPSHOT = 'begin isolation level repeatable read read only';

/** The begin of reads of which each sees the newest state. */
export const BEGIN_READ = 'begin isolation level read committed read only';

/** Runs a transaction once, on a connection of its own. Never rejects. */
export async function transactOn<T>(
  connections: Connections,
  begin: string,
  run: (connection: Connection) => Promise<T>,
  options: Pick<UseOptions, 'until' | 'statementTimeoutMs'> = {},
): Promise<Outcome<T>> {
  try {
    return await connections.use((session) => runOnce(session, begin, run), options);
  } catch (error) {
    return { status: 'failed', error, isUnknown: false };
  }
}

/** Runs a transaction once. It is rolled back if `run` throws. */
async function runOnce<T>(
  session: Session,
  begin: string,
  run: (connection: Connection) => Promise<T>,
): Promise<Outcome<T>> {
  let result: T;
  await session.command(begin);
  try {
    result = await run(session);
  } catch (error) {
    await session.command('rollback').catch(() => undefined);
    return { status: 'failed', error, isUnknown: false };
  }
  try {
    const done = await session.command('commit');
    if (done === 'COMMIT') return { status: 'done', result };
    // A statement had failed, and `run` went on.
    const error = new Error(`The database did a ${done} in place of the COMMIT.`);
    return { status: 'failed', error, isUnknown: false };
  } catch (error) {
    // A transaction that stayed open would be committed by the next one on this connection.
    await session.command('rollback').catch(() => undefined);
    return { status: 'failed', error, isUnknown: !isRefusedCommit(error) };
  }
}

/** Whether the server said that it committed nothing. */
function isRefusedCommit(error: unknown): boolean {
  return ['conflict', 'full', 'duplicate'].includes(classifyPostgresError(error));
}
