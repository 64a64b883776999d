import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { isStalled, MAX_HOLDS } from '../../files/hold.ts';
import { toOwner } from '../../files/paths.ts';
import { DREAMING } from '../../files/run-names.ts';
import { toTime, toUtcDay } from '../../time/time.ts';
import type { ExporterState } from '../../telemetry/exporters.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { EXAM_PARTS, type ExamPartName, type ModelExam } from '../../schemas/model-exam.ts';
import { AdminStatus } from '../../schemas/status.ts';

type StatusCore = Pick<
  Core,
  | 'settings'
  | 'access'
  | 'exam'
  | 'storage'
  | 'startedAt'
  | 'parts'
  | 'tools'
  | 'queue'
  | 'writeHealth'
  | 'reindex'
  | 'embeddings'
  | 'revisions'
  | 'rewriter'
  | 'freezes'
  | 'logSize'
  | 'now'
  | 'state'
>;

/** What is running, what is configured, and how to configure the rest. */
export function statusRoutes(core: StatusCore, version: string): RouteDefinition[] {
  return [
    adminRoute('Status', {
      tagDescription:
        'The state of the service, and the jobs that check, copy and trim its database.',
      method: 'GET',
      path: '/v1/admin/status',
      role: 'viewer',
      summary: 'Read the status of the service',
      description: 'Versions, what is configured and how to configure what is not, and backlogs.',
      resultSchema: AdminStatus,
      handle: () => readStatus(core, version),
    }),
  ];
}

async function readStatus(core: StatusCore, version: string): Promise<AdminStatus> {
  const { settings, parts, storage } = core;
  const toPart = (part: 'model' | 'verifier' | 'embedder', hint: string) => {
    const { at, ...health } = parts.health(part);
    const { [part]: name } = parts;
    return {
      ...toToggle(name !== null, hint),
      name,
      ...health,
      at: at === null ? null : toTime(at),
    };
  };
  const [
    described,
    filesBehind,
    tools,
    progress,
    writes,
    waiting,
    tokensToday,
    holds,
    databaseFile,
    freezes,
    redactions,
    accessLog,
    exam,
  ] = await Promise.all([
    storage.describe(),
    storage.files.countBehind(),
    core.tools.listTools(),
    core.embeddings?.progress() ?? null,
    core.writeHealth.check(),
    storage.runs?.of(DREAMING).countWaiting() ?? 0,
    storage.runs?.of(DREAMING).countTokens(toUtcDay(core.now())) ?? 0,
    storage.holds?.list(MAX_HOLDS) ?? [],
    core.rewriter.status(),
    core.freezes.list(),
    core.revisions.unfinishedRedactions(),
    core.logSize.read(),
    core.exam.read(),
  ]);
  return {
    version,
    node: process.versions.node,
    state: core.state(),
    startedAt: toTime(core.startedAt),
    uptimeMs: Math.max(0, core.now() - core.startedAt),
    storage: described,
    writes,
    model: toPart(
      'model',
      'Set SERVICE_MODEL_PROVIDER, as in openai, with its base URL, key and name.',
    ),
    verifier: toPart(
      'verifier',
      'Set SERVICE_VERIFIER_NAME; without it the model judges its own edits.',
    ),
    modelExam: toExam(exam, parts.model !== null),
    embedder: {
      ...toPart(
        'embedder',
        'Run memory-service embedder setup, or set SERVICE_EMBEDDING_PROVIDER, as in openai, with its base URL, key, name and dimensions.',
      ),
      progress,
    },
    exporters: toExporters(parts.exporters()),
    scheduler: toToggle(settings.dream.enabled, 'Set SERVICE_DREAM_ENABLED=true.'),
    dreaming: { operationsWaiting: waiting, tokensToday },
    redactions,
    holds: holds.map((hold) => ({
      ...toOwner(hold.scope),
      kind: hold.kind,
      progressAt: toTime(hold.progressAt),
      isStalled: isStalled(hold, core.now()),
    })),
    freezes,
    databaseFile,
    toolsApi: toToggle(
      settings.apiKey !== null || core.access.known.list().length > 0,
      'Set SERVICE_API_KEY, or make a key.',
    ),
    tools: tools.map(({ name, available }) => ({ name, available })),
    limits: settings.limits,
    sharedWrites: settings.sharedWrites,
    rateLimit: settings.rateLimit,
    index: { filesBehind, reindex: core.reindex.state() },
    accessLog,
    queues: core.queue.counters(),
  };
}

function toExam({ parts, expect }: ModelExam, hasModel: boolean): AdminStatus['modelExam'] {
  const passed = (name: ExamPartName) => parts.find(({ part }) => part === name)?.passed ?? null;
  const unknown = 'Not examined: run memory-service doctor --model.';
  const words = expect.length === EXAM_PARTS.length ? expect : [...expect, unknown];
  return {
    files: passed('files'),
    judges: passed('judges'),
    text: hasModel ? words.join(' ') : null,
  };
}

function toExporters(items: readonly ExporterState[]): AdminStatus['exporters'] {
  const running = items.filter(({ problem }) => problem === null);
  const [problem = 'Set OTEL_EXPORTER_OTLP_ENDPOINT, as in http://127.0.0.1:4318.'] = items.flatMap(
    (item) => item.problem ?? [],
  );
  return {
    ...toToggle(running.length > 0, problem),
    names: running.map(({ name }) => name),
    items: [...items],
  };
}

function toToggle(configured: boolean, hint: string) {
  return { configured, hint: configured ? null : hint };
}
