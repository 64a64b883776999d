import type { AdminStatus } from '../contracts/admin.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { ConfigStore } from '../contracts/storage.ts';
import type { TraceContext, TraceExporter } from '../contracts/trace-exporter.ts';
import { describeError } from '../describe-error.ts';
import { createUserHash } from './user-hash.ts';

/** The trace exporters of a service. */
export interface Exporters {
  /** The exporters that get events. Plugins add theirs during setup. */
  readonly active: TraceExporter[];
  /** Opens all that are not open yet. Logs and removes an exporter that fails to open. */
  open(): Promise<void>;
  /** Whether `open` has run: before that, the app's active span is unknown. */
  isOpen(): boolean;
  /**
   * The parent of a call that starts now: the app's active span, unless the call names a span of
   * another trace.
   */
  parentOf(named: TraceContext | null): TraceContext | null;
  /** Runs a call's work with its span active, in exporters that support this. */
  runWithin<T>(span: TraceContext, work: () => T): T;
  describe(): ExporterState[];
}

/** An exporter's status; `problem` is `null` while it works, `spans` if it doesn't count them. */
export type ExporterState = AdminStatus['exporters']['items'][number];

/** Combines the configured exporters; {@link Exporters.open} opens them. */
export function createExporters(
  given: readonly TraceExporter[],
  deps: { config: ConfigStore; log: Logger; version: string },
): Exporters {
  const active = [...given];
  const opened = new Set<TraceExporter>();
  const failed: ExporterState[] = [];
  /** Asked at each call: mostly there is none. */
  let inContext: TraceExporter[] = [];
  let hash: Promise<(userId: string) => string> | null = null;
  let isOpen = false;

  async function openOne(exporter: TraceExporter): Promise<void> {
    if (exporter.open === undefined) return;
    try {
      hash ??= createUserHash(deps.config);
      await exporter.open({
        log: deps.log,
        version: deps.version,
        hashUserId: await hash,
      });
    } catch (error) {
      hash = null;
      active.splice(active.indexOf(exporter), 1);
      const problem = error instanceof Error ? error.message : 'It cannot be opened.';
      failed.push({ name: exporter.name, problem, spans: null });
      deps.log.error(
        { exporter: exporter.name, problem, error: describeError(error) },
        'the exporter cannot be opened: traces are kept here alone',
      );
    }
  }

  return {
    active,
    async open() {
      for (const exporter of [...active]) {
        if (opened.has(exporter)) continue;
        opened.add(exporter);
        await openOne(exporter);
      }
      inContext = active.filter(
        ({ activeContext, runWithin }) => activeContext !== undefined || runWithin !== undefined,
      );
      isOpen = true;
    },
    isOpen: () => isOpen,
    parentOf(named) {
      for (const exporter of inContext) {
        const found = activeContextOf(exporter);
        // The app may have started its own spans in the trace that its request names.
        if (found !== null && (named === null || named.traceId === found.traceId)) return found;
      }
      return named;
    },
    runWithin<T>(span: TraceContext, work: () => T): T {
      let run = work;
      for (const exporter of inContext) {
        const inner = run;
        run = () => (exporter.runWithin === undefined ? inner() : exporter.runWithin(span, inner));
      }
      return run();
    },
    describe: () => [
      ...active.map((exporter) => ({
        name: exporter.name,
        problem: null,
        spans: exporter.counters?.() ?? null,
      })),
      ...failed,
    ],
  };
}

/** Runs an exporter's code; if it throws, the call continues without its place in the trace. */
function activeContextOf(exporter: TraceExporter): TraceContext | null {
  try {
    return exporter.activeContext?.() ?? null;
  } catch {
    return null;
  }
}
