import type { CheckOrigin, CheckRunRecord } from '../contracts/checks.ts';
import type { AuditCaller, Logger } from '../contracts/plugin.ts';
import type { EventRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError, readAfterWrite } from '../errors.ts';
import { SHARED } from '../files/paths.ts';
import type { IdSource } from '../ids/ids.ts';
import type {
  AdminCheckRun,
  AdminCheckRuns,
  AdminChecks,
  CheckRun,
  CheckResult,
  ChecksBody,
} from '../schemas/checks.ts';
import { NOBODY, toAuditRecord, withLastChange, writeAudit } from '../telemetry/audit.ts';
import { RootTrace } from '../telemetry/tracer.ts';
import { toTime } from '../time/time.ts';
import type { Check } from './check.ts';
import { type CheckDocument, CHECKS_TEXT, readDocument, toCounter } from './check-document.ts';
import { compareRuns } from './reports.ts';
import { fromResultRows, toResultRows } from './result-rows.ts';
import type { CheckProgress } from './run-checks.ts';

/** Runs that are kept, the newest. */
const KEPT_RUNS = 100;
/** Runs of which a list has the outcome of each check. */
const LISTED_RUNS = 30;

/** What the stored checks work with. */
export interface StoredCheckDependencies {
  storage: Pick<Storage, 'config' | 'checks' | 'log' | 'audit' | 'mutate'>;
  run: (checks: readonly Check[], progress: CheckProgress | null) => Promise<CheckRun>;
  /** The model of finds by meaning; `null` without one. */
  embedder: string | null;
  ids: IdSource;
  log: Logger;
  latestErasure: () => number;
  record: (event: EventRecord) => void;
  now: () => number;
}

/** Creates the stored checks of a service. They stand in its settings, and never in memory. */
export function createStoredChecks(deps: StoredCheckDependencies) {
  const { storage, ids, log } = deps;
  let known: { version: number; checks: readonly Check[] } | null = null;

  async function parse({ text }: CheckDocument) {
    const { readCheckFile } = await import('./read-check-file.ts');
    return text === '' ? { checks: [], lines: [], mistakes: [] } : readCheckFile(text);
  }

  /** The checks as they are now. A text that somebody damaged by hand has none. */
  async function load(): Promise<{ version: number; checks: readonly Check[] }> {
    const document = await readDocument(storage);
    if (known?.version === document.version) return known;
    const { checks, mistakes } = await parse(document);
    if (mistakes.length > 0)
      log.warn({ mistakes: mistakes.length }, 'the stored checks have mistakes');
    known = { version: document.version, checks: mistakes.length > 0 ? [] : checks };
    return known;
  }

  async function read(): Promise<AdminChecks> {
    const document = await readDocument(storage);
    const { checks, lines, mistakes } = await parse(document);
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

  async function readRun(record: CheckRunRecord): Promise<CheckResult[]> {
    return fromResultRows(await storage.checks.results(record.id));
  }

  async function answer(
    record: CheckRunRecord,
    before: CheckRunRecord | null,
  ): Promise<AdminCheckRun> {
    const results = await readRun(record);
    const earlier = before === null ? [] : await readRun(before);
    return {
      ...toSummary(record),
      results,
      against: before?.id ?? null,
      changes: compareRuns({ results: earlier }, { results }),
    };
  }

  return {
    load,
    read,

    /** Replaces the checks. Throws `INVALID_REQUEST` with all mistakes, and `VERSION_CONFLICT`. */
    async write(
      body: ChecksBody,
      { caller, ifVersion }: { caller: AuditCaller; ifVersion: number | undefined },
    ): Promise<AdminChecks> {
      const text = await toText(body);
      const { checks, mistakes } = await parse({ text, version: 0 });
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
        storage.config.set(
          { [CHECKS_TEXT]: text },
          toAuditRecord(ids, audit),
          toCounter(ifVersion),
        ),
      );
      return await readAfterWrite(read);
    },

    async version(): Promise<number> {
      return (await readDocument(storage)).version;
    },

    /**
     * Runs the stored checks, and keeps what they find. A run by hand leaves an audit row. `null` where there
     * are none.
     */
    async run(
      origin: CheckOrigin,
      {
        caller = null,
        progress = null,
      }: { caller?: AuditCaller | null; progress?: CheckProgress | null } = {},
    ): Promise<AdminCheckRun | null> {
      const { checks, version } = await load();
      if (checks.length === 0) return null;
      const knownErasure = deps.latestErasure();
      const id = ids.next();
      const trace = new RootTrace({
        ids,
        kind: 'check.run',
        name: 'checks',
        scope: SHARED,
        userId: null,
        tool: null,
        actor: 'check',
        toolCallId: id,
        callerToolCallId: null,
        parent: null,
        startedAt: deps.now(),
        knownErasure,
      });
      const at = deps.now();
      const [before = null] = await storage.checks.runs({ limit: 1 });
      const { results, passed, failed } = await deps
        .run(checks, progress)
        .catch((error: unknown) => {
          deps.record(trace.finish(error, { mode: origin }));
          throw error;
        });
      const tookMs = Math.max(0, deps.now() - at);
      const record = { id, origin, at, tookMs, version, passed, failed, embedder: deps.embedder };
      const rows = toResultRows(record, { checks, results, ids });
      await storage.log.addCheckRun(record, { results: rows, knownErasure, keep: KEPT_RUNS });
      const run = await answer(record, before);
      const red = run.changes.filter(({ turned }) => turned === 'red').length;
      const green = run.changes.filter(({ turned }) => turned === 'green').length;
      const counts = { passed, failed, turnedRed: red, turnedGreen: green };
      deps.record(trace.finish(null, { mode: origin, ...counts }));
      if (red > 0) log.warn({ origin, ...counts }, 'checks of memory have turned red');
      if (origin === 'hand') {
        const entry = { action: 'checks.run', target: id, details: { passed, failed } };
        await writeAudit({ storage, ids }, { ...entry, ...(caller ?? NOBODY) });
      }
      return run;
    },

    /** The newest runs, and the outcome of each check in them. */
    async runs(): Promise<AdminCheckRuns> {
      const records = await storage.checks.runs({ limit: KEPT_RUNS });
      const listed = records.slice(0, LISTED_RUNS).map(({ id }) => id);
      const found = await storage.checks.outcomes(listed);
      const checks = new Map<string, AdminCheckRuns['checks'][number]>();
      const place = new Map(listed.map((id, at) => [id, at]));
      for (const one of [...found].sort(
        (a, b) => (place.get(b.runId) ?? 0) - (place.get(a.runId) ?? 0) || a.checkNo - b.checkNo,
      )) {
        const name = one.name ?? '';
        const check = checks.get(name) ?? { name, outcomes: [] };
        check.outcomes.push({
          runId: one.runId,
          passed: one.passed ?? false,
          ...(one.place !== null && { rank: one.place === 0 ? null : one.place }),
        });
        checks.set(name, check);
      }
      return { items: records.map(toSummary), checks: [...checks.values()] };
    },

    /** A run with its results, against the one before it. Throws `NOT_FOUND`. */
    async get(id: string): Promise<AdminCheckRun> {
      const record = await storage.checks.run(id);
      if (record === null) throw new MemoryError('NOT_FOUND', 'There is no such run of checks.');
      const records = await storage.checks.runs({ limit: KEPT_RUNS });
      return await answer(record, records.find((one) => one.id < id) ?? null);
    },

    /** The last run; `null` before the first. */
    async latest(): Promise<CheckRunRecord | null> {
      return (await storage.checks.runs({ limit: 1 }))[0] ?? null;
    },
  };
}

async function toText(body: ChecksBody): Promise<string> {
  if (body.text !== undefined) return body.text.trim() === '' ? '' : body.text;
  const { writeChecks } = await import('./without-checks.ts');
  return writeChecks(body.checks ?? []);
}

function toSummary({ at, ...record }: CheckRunRecord): AdminCheckRuns['items'][number] {
  return { ...record, at: toTime(at) };
}
