import type { ScopeKey } from '../../core/contracts/records.ts';
import type { SqlDatabase } from '../../core/storage/sql-database.ts';
import type { Connection } from '../../core/storage/dialect.ts';
import { findRows } from '../../core/storage/schema/row-sets.ts';
import { toInteger } from '../../core/storage/schema/rows.ts';
import { toScopeId } from '../../core/storage/schema/scope-id.ts';
import { applyMutations, type Mutation } from '../../core/storage/write/mutation.ts';
import type { Connections } from './connections.ts';
import { type Outcome, runOnce } from './transactions.ts';

/** How many shared transactions run at once. */
const AT_ONCE = 4;
/** The most mutations of one transaction. */
const GROUP_SIZE = 32;

/** A mutation, and how it runs on its own. */
export interface Shareable {
  mutation: Mutation;
  /** The deadline, as a point of `performance.now()`. */
  until: number;
  /**
   * Runs the mutation in a transaction of its own, with its retries. `isUnknown`: it was part of a
   * COMMIT that got no answer.
   */
  alone: (isUnknown: boolean) => Promise<unknown>;
}

interface Waiting extends Shareable {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Lets mutations that wait at the same time share a transaction, and so its statements and its
 * fsync. A shared transaction waits for no lock of a scope: what it can't lock at once runs in a
 * transaction of its own, and so do all of them if it fails. So no call waits or fails because of
 * another one.
 */
export class SharedTransactions {
  private readonly connections: Connections;
  private readonly database: Pick<SqlDatabase, 'skew' | 'damage'>;
  private readonly waiting: Waiting[] = [];
  /** The scopes of all transactions under way, each with the number of its transactions. */
  private readonly busy = new Map<ScopeKey, number>();
  private running = 0;

  constructor(connections: Connections, database: Pick<SqlDatabase, 'skew' | 'damage'>) {
    this.connections = connections;
    this.database = database;
  }

  run(work: Shareable): Promise<unknown> {
    // Guards are rows that several scopes share.
    const isApart = this.busy.size === 0 || work.mutation.request.guards !== undefined;
    if (isApart) return this.runAlone(work, false);
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...work, resolve, reject });
      this.start();
    });
  }

  private async runAlone(work: Shareable, isUnknown: boolean): Promise<unknown> {
    this.hold([work], 1);
    try {
      return await work.alone(isUnknown);
    } finally {
      this.hold([work], -1);
      this.start();
    }
  }

  private start(): void {
    if (this.waiting.length > 0 && this.running < AT_ONCE) void this.runGroups();
  }

  private async runGroups(): Promise<void> {
    this.running += 1;
    // Callers that write in the same turn of the event loop get into the same group.
    await Promise.resolve();
    for (let group = this.take(); group.length > 0; group = this.take()) {
      this.hold(group, 1);
      await this.runGroup(group);
      this.hold(group, -1);
    }
    this.running -= 1;
  }

  private hold(works: readonly Shareable[], by: 1 | -1): void {
    for (const scope of works.flatMap(({ mutation }) => mutation.request.scopes)) {
      const count = (this.busy.get(scope) ?? 0) + by;
      if (count === 0) this.busy.delete(scope);
      else this.busy.set(scope, count);
    }
  }

  /** The first ones that wait, but none that would wait for a transaction under way. */
  private take(): Waiting[] {
    const group: Waiting[] = [];
    for (let at = 0; at < this.waiting.length && group.length < GROUP_SIZE;) {
      const { scopes } = (this.waiting[at] as Waiting).mutation.request;
      if (scopes.some((scope) => this.busy.has(scope))) at += 1;
      else group.push(...this.waiting.splice(at, 1));
    }
    return group;
  }

  /** Settles every member, or starts its own transaction. */
  private async runGroup(group: readonly Waiting[]): Promise<void> {
    let members: readonly Waiting[] = [];
    const until = Math.min(...group.map((waiting) => waiting.until));
    const outcome = await this.connections
      .use(
        (session) =>
          runOnce(session, async (connection) => {
            const locked = await lockFreeScopes(connection, group);
            members = group.filter(({ mutation }) =>
              mutation.request.scopes.every((scope) => locked.has(toScopeId(scope))),
            );
            const mutations = members.map(({ mutation }) => mutation);
            return await applyMutations(connection, this.database, mutations);
          }),
        { until },
      )
      .catch((error: unknown): Outcome<never> => ({ status: 'failed', error, isUnknown: false }));
    const isDone = outcome.status === 'done';
    for (const waiting of group) {
      const at = members.indexOf(waiting);
      const result = isDone ? outcome.result[at] : undefined;
      if (result === undefined) {
        const isUnknown = !isDone && outcome.isUnknown && at >= 0;
        this.runAlone(waiting, isUnknown).then(waiting.resolve, waiting.reject);
      } else if (result.status === 'applied') waiting.resolve(result.result);
      else waiting.reject(result.error);
    }
  }
}

/** Locks the rows of the scopes that nobody else has locked, and returns their numbers. */
async function lockFreeScopes(
  connection: Connection,
  group: readonly Waiting[],
): Promise<Set<number>> {
  const scopes = new Set(group.flatMap(({ mutation }) => mutation.request.scopes));
  const rows = await findRows(connection, 'svc_scope', {
    columns: ['scope_id'],
    rows: [...scopes].map((scope) => [toScopeId(scope)]),
    select: ['t.scope_id'],
    rest: `${connection.dialect.forUpdate} skip locked`,
  });
  return new Set(rows.map((row) => toInteger(row['scope_id'])));
}
