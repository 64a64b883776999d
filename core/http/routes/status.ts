import Type from 'typebox';
import type { AdminStatus } from '../../contracts/admin.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { toTime } from '../../time.ts';
import type { ExporterState } from '../../telemetry/exporters.ts';
import { embeddingProgressSchema } from './reembed.ts';
import { reindexSchema } from './reindex.ts';
import { countSchema, nullable, strict, timeSchema } from './shapes.ts';

const partSchema = Type.Object(
  {
    configured: Type.Boolean(),
    name: nullable(Type.String()),
    /** Present where nothing is configured. */
    hint: nullable(Type.String({ description: 'How to configure it.' })),
  },
  strict,
);

const embedderSchema = Type.Object(
  {
    ...partSchema.properties,
    progress: nullable(embeddingProgressSchema),
  },
  strict,
);

const exporterSchema = Type.Object(
  {
    name: Type.String(),
    problem: nullable(Type.String({ description: 'Why it does not run.' })),
    spans: nullable(
      Type.Object(
        {
          queued: Type.Integer({ minimum: 0, description: 'Waiting, or on their way.' }),
          exported: countSchema,
          dropped: Type.Integer({
            minimum: 0,
            description: 'Found the queue full, or were left at the end.',
          }),
          failed: Type.Integer({ minimum: 0, description: 'Refused, or never acknowledged.' }),
        },
        { ...strict, description: 'Since the start; null for an exporter that does not count.' },
      ),
    ),
  },
  strict,
);

const statusSchema = Type.Object(
  {
    version: Type.String(),
    node: Type.String(),
    state: Type.String(),
    startedAt: timeSchema,
    uptimeMs: Type.Number({ minimum: 0 }),
    storage: Type.Object(
      {
        name: Type.String(),
        driver: Type.String(),
        version: Type.String(),
        schemaVersion: countSchema,
        settings: Type.Record(
          Type.String(),
          Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
        ),
      },
      strict,
    ),
    writes: Type.Object(
      {
        status: Type.Enum(['ok', 'failing'], {
          description: 'Whether the database takes writes, by the latest of them.',
        }),
        code: nullable(Type.String({ description: 'The code that they get while they fail.' })),
      },
      strict,
    ),
    model: partSchema,
    embedder: embedderSchema,
    exporters: Type.Object(
      {
        configured: Type.Boolean(),
        names: Type.Array(Type.String()),
        hint: nullable(Type.String()),
        items: Type.Array(exporterSchema),
      },
      strict,
    ),
    scheduler: Type.Object({ configured: Type.Boolean(), hint: nullable(Type.String()) }, strict),
    toolsApi: Type.Object({ configured: Type.Boolean(), hint: nullable(Type.String()) }, strict),
    tools: Type.Array(Type.Object({ name: Type.String(), available: Type.Boolean() }, strict)),
    limits: Type.Object(
      { maxFileBytes: countSchema, maxBodyBytes: countSchema, maxFilesPerUser: countSchema },
      strict,
    ),
    sharedWrites: Type.Boolean(),
    rateLimit: countSchema,
    index: Type.Object(
      {
        filesBehind: Type.Integer({ minimum: 0, description: 'Files to be indexed again.' }),
        reindex: nullable(reindexSchema),
      },
      strict,
    ),
    queues: Type.Object(
      {
        accessQueued: countSchema,
        eventsQueued: countSchema,
        eventsDropped: Type.Integer({ minimum: 0, description: 'Since the start.' }),
      },
      strict,
    ),
  },
  strict,
);

type StatusCore = Pick<
  Core,
  | 'settings'
  | 'storage'
  | 'startedAt'
  | 'parts'
  | 'tools'
  | 'queue'
  | 'writeHealth'
  | 'reindex'
  | 'embeddings'
  | 'now'
  | 'state'
>;

/** What runs, what is configured, and how to configure what is not. */
export function statusRoutes(core: StatusCore, version: string): RouteDefinition[] {
  const { settings, parts, storage } = core;
  return [
    {
      method: 'GET',
      path: '/v1/admin/status',
      auth: 'admin',
      tag: 'Status',
      summary: 'Read the status of the service',
      description: 'Versions, what is configured and how to configure what is not, and backlogs.',
      resultSchema: statusSchema,
      errorCodes: [],
      async handle(): Promise<AdminStatus> {
        const [described, filesBehind, tools, progress, writes] = await Promise.all([
          storage.describe(),
          storage.files.countBehind(),
          core.tools.listTools(),
          core.embeddings?.progress() ?? null,
          core.writeHealth.check(),
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
            parts.model,
            'Set SERVICE_MODEL_PROVIDER, as in openai, with its base URL, key and name.',
          ),
          embedder: {
            ...toPart(
              parts.embedder,
              'Set SERVICE_EMBEDDING_PROVIDER, as in openai, with its base URL, key, name and dimensions.',
            ),
            progress,
          },
          exporters: toExporters(parts.exporters()),
          scheduler: {
            configured: settings.dream.enabled,
            hint: hintUnless(settings.dream.enabled, 'Set SERVICE_DREAM_ENABLED=true.'),
          },
          toolsApi: {
            configured: settings.apiKey !== null,
            hint: hintUnless(settings.apiKey !== null, 'Set SERVICE_API_KEY.'),
          },
          tools: tools.map(({ name, available }) => ({ name, available })),
          limits: settings.limits,
          sharedWrites: settings.sharedWrites,
          rateLimit: settings.rateLimit,
          index: { filesBehind, reindex: core.reindex.state() },
          queues: core.queue.counters(),
        };
      },
    },
  ];
}

function toExporters(items: readonly ExporterState[]): AdminStatus['exporters'] {
  const running = items.filter(({ problem }) => problem === null);
  const [problem = 'Set OTEL_EXPORTER_OTLP_ENDPOINT, as in http://127.0.0.1:4318.'] = items.flatMap(
    (item) => item.problem ?? [],
  );
  return {
    configured: running.length > 0,
    names: running.map(({ name }) => name),
    hint: hintUnless(running.length > 0, problem),
    items: [...items],
  };
}

function toPart(name: string | null, hint: string) {
  return { configured: name !== null, name, hint: hintUnless(name !== null, hint) };
}

function hintUnless(isConfigured: boolean, hint: string): string | null {
  return isConfigured ? null : hint;
}
