import type { CheckOrigin, CheckRunRecord } from '../contracts/checks.ts';
import type { AuditCaller, Logger } from '../contracts/plugin.ts';
import type { EventRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError, readAfterWrite } from '../errors.ts';
import { SHARED } from '../files/paths.ts';
import { CHECK_ACTOR } from '../files/service-actors.ts';
import type { IdSource } from '../ids/ids.ts';
import { groupBy } from '../lists/group-by.ts';
import type {
  AdminCheckRun,
  AdminCheckRuns,
  AdminChecks,
  CheckRun,
  ChecksBody,
} from '../schemas/checks.ts';
import { NOBODY, toAuditRecord, withLastChange, writeAudit } from '../telemetry/audit.ts';
import { RootTrace } from '../telemetry/tracer.ts';
import { toTime } from '../time/time.ts';
import type { Check } from './check.ts';
import { CHECKS_TEXT, readDocument, toCounter } from './check-document.ts';
import { compareRuns } from './reports.ts';
import { fromResultRows, toResultRows } from './result-rows.ts';
import type { CheckFile } from './read-check-file.ts';
import type { CheckProgress } from './run-checks.ts';

/** Runs that are kept, the newest. */
const KEPT_RUNS = 100;
/** Runs of which a list has the outcome of each check. */
const LISTED_RUNS = 30;

/** How a run of checks says how far it is. */
export interface ProgressOptions {
  progress?: CheckProgress | null;
  /** The progress can be asked for by this id. */
  progressId?: string | undefined;
}

/** What the stored checks work with. */
export interface StoredCheckDependencies {
  storage: Pick<Storage, 'config' | 'checks' | 'log' | 'audit' | 'mutate'>;
  run: (checks: readonly Check[], options: ProgressOptions) => Promise<CheckRun>;
  /** The model of finds by meaning; `null` without one. */
  embedder: string | null;
  ids: IdSource;
  log: Logger;
  latestErasure: () => number;
  record: (event: EventRecord) => void;
  now: () => number;
}

/** The stored checks of a service, and what their runs found. They stand in its settings, never in memory. */
export class StoredChecks {
  readonly #deps: StoredCheckDependencies;
  #known: { version: number; checks: readonly Check[] } | null = null;

  constructor(deps: StoredCheckDependencies) {
    this.#deps = deps;
  }

  /** The checks as they are now. A text that somebody damaged by hand has none. */
  async load(): Promise<{ version: number; checks: readonly Check[] }> {
    const document = await readDocument(this.#deps.storage);
    if (this.#known?.version === document.version) return this.#known;
    const { checks, mistakes } = await parse(document.text);
    if (mistakes.length > 0) {
      this.#deps.log.warn({ mistakes: mistakes.length }, 'the stored checks have mistakes');
    }
    this.#known = { version: document.version, checks: mistakes.length > 0 ? [] : checks };
    return this.#known;
  }

  async read(): Promise<AdminChecks> {
    const document = await readDocument(this.#deps.storage);
    const { checks, lines, mistakes } = await parse(document.text);
    return {
      ...document,
      checks: checks.map(({ name, target, rule }, at) => ({
        name,
        line: lines[at] ?? 1,
        about: target.kind,
        kind: rule.kind,
      })),
      mistakes: mistakes.map(({ line, message }) => ({ line, message })),
    };
  }

  async version(): Promise<number> {
    return (await readDocument(this.#deps.storage)).version;
  }

  /** Replaces the checks. Throws `INVALID_REQUEST` with all mistakes, and `VERSION_CONFLICT`. */
  async write(
    body: ChecksBody,
    { caller, ifVersion }: { caller: AuditCaller; ifVersion: number | undefined },
  ): Promise<AdminChecks> {
    const { storage, ids } = this.#deps;
    const text = await toText(body);
    const { checks, mistakes } = await parse(text);
    const [first] = mistakes;
    if (first !== undefined) {
      const more = mistakes.length === 1 ? '' : ` There are ${mistakes.length} mistakes.`;
      throw new MemoryError('INVALID_REQUEST', `Line ${first.line}: ${first.message}.${more}`, {
        details: { issues: mistakes },
      });
    }
    const details = { checks: checks.length };
    const audit = { action: 'checks.change', target: 'checks', details, ...caller };
    await withLastChange(storage.audit, { actions: ['checks.change'] }, () =>
      storage.config.set({ [CHECKS_TEXT]: text }, toAuditRecord(ids, audit), toCounter(ifVersion)),
    );
    return await readAfterWrite(() => this.read());
  }

  /**
   * Runs the stored checks and stores their results. Writes an audit row for a run by hand. Returns `null` if no
   * checks are stored.
   */
  async run(
    origin: CheckOrigin,
    { caller = null, ...options }: { caller?: AuditCaller | null } & ProgressOptions = {},
  ): Promise<AdminCheckRun | null> {
    const { storage, ids, log, embedder, now, latestErasure } = this.#deps;
    const { checks, version } = await this.load();
    if (checks.length === 0) return null;
    const knownErasure = latestErasure();
    const [id, at] = [ids.next(), now()];
    const trace = this.#startTrace(id, { at, knownErasure });
    const [before = null] = await storage.checks.runs({ limit: 1 });
    let found: CheckRun;
    try {
      found = await this.#deps.run(checks, options);
    } catch (error) {
      this.#deps.record(trace.finish(error, { mode: origin }));
      throw error;
    }
    const { results, passed, failed } = found;
    const tookMs = Math.max(0, now() - at);
    const record = { id, origin, at, tookMs, version, passed, failed, embedder };
    const rows = toResultRows(record, { checks, results, ids });
    await storage.log.addCheckRun(record, { results: rows, knownErasure, keep: KEPT_RUNS });
    const run = await this.#answer(record, before);
    const countTurned = (to: 'red' | 'green') =>
      run.changes.filter(({ turned }) => turned === to).length;
    const [turnedRed, turnedGreen] = [countTurned('red'), countTurned('green')];
    const counts = { passed, failed, turnedRed, turnedGreen };
    this.#deps.record(trace.finish(null, { mode: origin, ...counts }));
    if (turnedRed > 0) log.warn({ origin, ...counts }, 'checks of memory have turned red');
    if (origin === 'hand') {
      const entry = { action: 'checks.run', target: id, details: { passed, failed } };
      await writeAudit({ storage, ids }, { ...entry, ...(caller ?? NOBODY) });
    }
    return run;
  }

  /** The newest runs, and the outcome of each check in them. */
  async runs(): Promise<AdminCheckRuns> {
    const { checks: store } = this.#deps.storage;
    const records = await store.runs({ limit: KEPT_RUNS });
    const listed = records.slice(0, LISTED_RUNS).map(({ id }) => id);
    const place = new Map(listed.map((id, at) => [id, -at]));
    const found = (await store.outcomes(listed)).toSorted(
      (one, other) =>
        (place.get(one.runId) ?? 0) - (place.get(other.runId) ?? 0) || one.checkNo - other.checkNo,
    );
    const checks = [...groupBy(found, ({ name }) => name ?? '')].map(([name, own]) => ({
      name,
      outcomes: own.map(({ runId, passed, place: rank }) => ({
        runId,
        passed: passed ?? false,
        ...(rank !== null && { rank: rank === 0 ? null : rank }),
      })),
    }));
    return { items: records.map(toSummary), checks };
  }

  /** A run with its results, against the one before it. Throws `CHECK_NOT_FOUND`. */
  async get(id: string): Promise<AdminCheckRun> {
    const { checks } = this.#deps.storage;
    const record = await checks.run(id);
    if (record === null)
      throw new MemoryError('CHECK_NOT_FOUND', 'There is no such run of checks.');
    const records = await checks.runs({ limit: KEPT_RUNS });
    return await this.#answer(record, records.find((one) => one.id < id) ?? null);
  }

  async #answer(record: CheckRunRecord, before: CheckRunRecord | null): Promise<AdminCheckRun> {
    const readResults = async ({ id }: CheckRunRecord) =>
      fromResultRows(await this.#deps.storage.checks.results(id));
    const results = await readResults(record);
    const earlier = before === null ? [] : await readResults(before);
    return {
      ...toSummary(record),
      results,
      against: before?.id ?? null,
      changes: compareRuns({ results: earlier }, { results }),
    };
  }

  #startTrace(
    toolCallId: string,
    { at: startedAt, knownErasure }: { at: number; knownErasure: number },
  ): RootTrace {
    return new RootTrace({
      ids: this.#deps.ids,
      kind: 'check.run',
      name: 'checks',
      scope: SHARED,
      userId: null,
      tool: null,
      actor: CHECK_ACTOR,
      toolCallId,
      callerToolCallId: null,
      parent: null,
      startedAt,
      knownErasure,
    });
  }
}

async function parse(text: string): Promise<Pick<CheckFile, 'checks' | 'lines' | 'mistakes'>> {
  const { readCheckFile } = await import('./read-check-file.ts');
  return text === '' ? { checks: [], lines: [], mistakes: [] } : readCheckFile(text);
}

async function toText(body: ChecksBody): Promise<string> {
  if (body.text !== undefined) return body.text.trim() === '' ? '' : body.text;
  const { writeChecks } = await import('./without-checks.ts');
  return writeChecks(body.checks ?? []);
}

function toSummary({ at, ...record }: CheckRunRecord): AdminCheckRuns['items'][number] {
  return { ...record, at: toTime(at) };
}
