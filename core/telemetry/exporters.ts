import type { AdminStatus } from '../contracts/admin.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { ConfigStore } from '../contracts/storage.ts';
import type { TraceContext, TraceExporter } from '../contracts/trace-exporter.ts';
import { describeError } from '../describe-error.ts';
import { createUserHash } from './user-hash.ts';

/** The exporters of a service, and what they have to do with its calls. */
export interface Exporters {
  /** Those that are given events. Plugins add theirs while they are set up. */
  readonly active: TraceExporter[];
  /** Opens those that are not open yet. What fails is logged and left out from then on. */
  open(): Promise<void>;
  /** Whether they were opened: before that, no app's span is known. */
  isOpen(): boolean;
  /**
   * The caller of a call that begins now: the app's active span, unless the call names a span of
   * another trace.
   */
  parentOf(named: TraceContext | null): TraceContext | null;
  /** Runs a call's work as its span, for exporters that know how. */
  runWithin<T>(span: TraceContext, work: () => T): T;
  describe(): ExporterState[];
}

/** How an exporter is; `problem` is `null` while it runs, and `spans` if it does not count. */
export type ExporterState = AdminStatus['exporters']['items'][number];

/** Puts the configured exporters together; nothing is opened before {@link Exporters.open}. */
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
        // The app may have begun spans of its own in the trace that its request names.
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

/** Foreign code: a call is worth more than its place in a trace. */
function activeContextOf(exporter: TraceExporter): TraceContext | null {
  try {
    return exporter.activeContext?.() ?? null;
  } catch {
    return null;
  }
}
