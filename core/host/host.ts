import { randomUUID } from 'node:crypto';
import type {
  Host,
  HostMemory,
  HostModels,
  HostSettings,
  Lease,
  Logger,
  Plugin,
  PluginConfig,
  PluginHistory,
  PluginParts,
  PluginRuns,
  RevertRunOptions,
  RunChange,
  RunTrace,
  TracedRun,
} from '../contracts/plugin.ts';
import type { RevertedFile } from '../contracts/admin.ts';
import type { EventRecord, ScopeKey } from '../contracts/records.ts';
import type { RouteDefinition } from '../contracts/route.ts';
import type { RunDecision, RunRecord } from '../contracts/runs.ts';
import type { Screener } from '../contracts/screener.ts';
import type { Storage } from '../contracts/storage.ts';
import type { HostStores } from '../contracts/stores.ts';
import type { ToolDefinition, ToolRunner } from '../contracts/tool.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { MemoryError } from '../errors.ts';
import type { RevertEnd } from '../history/undo/revert.ts';
import { toAuditRecord, withLastChange } from '../telemetry/audit.ts';
import { withDeadline } from '../time/deadline.ts';
import { describeError } from '../describe-error.ts';
import type { Files } from '../files/files.ts';
import type { HostFiles } from '../files/host-files.ts';
import { assertScope, toUserId } from '../files/paths.ts';
import { runBudgetOf, scopeLeaseOf } from '../files/run-names.ts';
import { isUuid } from '../ids/ids.ts';
import { assertSchema, compileSchema } from '../schemas/validate.ts';
import { RootTrace } from '../telemetry/tracer.ts';

/** What a plugin's code may take: `setup`, a hook or a batch of an exporter; a tool. */
const PLUGIN_TIME_LIMITS = { hookMs: 10_000, callMs: 120_000 } as const;

/** A plugin's place in the service: set up once, then started and closed with it. */
export interface PluginHooks {
  readonly name: string;
  /**
   * Checks `apiVersion` and the options, then runs `setup`. Throws `INVALID_REQUEST` for what the
   * operator can mend, `INTERNAL` with the plugin's error as `cause` when `setup` fails or hangs.
   */
  setUp(): Promise<void>;
  /** Runs the start hook. A failure is logged; the service goes on. */
  start(): Promise<void>;
  /** Runs the close hook. A failure is logged. */
  close(): Promise<void>;
}

/** What the host is made of: parts of the service, none of them a way around its rules. */
export interface PluginHostDependencies {
  storage: Pick<Storage, 'files' | 'config' | 'leases' | 'runs' | 'audit'>;
  files: HostFiles & Pick<Files, 'checkWrites'>;
  history: HostHistory;
  tryChecks: HostMemory['tryChecks'];
  tools: ToolRunner;
  stores: HostStores;
  log: Logger;
  now: () => number;
  ids: { next(): string; readonly lastMs: number };
  /** The number of the last erasure that is known. */
  latestErasure: () => number;
  /** Takes the events of runs, as those of tool calls. */
  record(event: EventRecord): void;
  models: HostModels;
  settings: HostSettings;
  addTool(tool: ToolDefinition): void;
  addRoute(route: RouteDefinition): void;
  addExporter(exporter: TraceExporter): void;
  addScreener(screener: Screener): void;
  /** For tests; default 10 s for a hook and 120 s for a tool. */
  timeLimits?: { hookMs: number; callMs: number };
}

/** What changed in memory files, for all plugins. */
export interface HostHistory extends Omit<PluginHistory, 'revertRun'> {
  revertRun(
    scope: ScopeKey,
    runId: string,
    options: Omit<RevertRunOptions, 'lease' | 'with'> & {
      end?: RevertEnd | undefined;
    },
  ): Promise<readonly RevertedFile[]>;
}

const API_VERSION: Plugin['apiVersion'] = 2;
const FROM_VERSION_1 =
  'Set apiVersion to 2, and let setup return { tools, routes, exporters, start, close } in place of host.addTool, addRoute, addExporter, onStart and onClose. docs/guides/writing-a-plugin.md#from-version-1 lists every change';
const PLUGIN_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const TOOL_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const RUN_NAME = /^[a-z][a-z._-]{0,63}$/;
// Settings of the service itself; a plugin's own begin with another word.
const RESERVED_CONFIG_PREFIX = 'service_';

/**
 * Gives one plugin its host. Whatever the plugin adds runs behind a time limit and a catch: a
 * plugin that throws or hangs fails that call, and the service lives. A route runs within the
 * deadline of its request.
 */
export function createPluginHost(plugin: Plugin, deps: PluginHostDependencies): PluginHooks {
  const { hookMs, callMs } = deps.timeLimits ?? PLUGIN_TIME_LIMITS;
  const log = withPluginName(deps.log, plugin.name);
  const inHook = limitTo(hookMs, log);
  const inCall = limitTo(callMs, log);
  let parts: PluginParts = {};

  function checkRunId(runId: string): void {
    if (!isUuid(runId)) throw invalid(plugin, 'a runId is a UUID in lower case');
  }

  const host: Host = Object.freeze({
    log,
    now: deps.now,
    settings: deps.settings,
    models: deps.models,
    memory: Object.freeze({
      ...readMemory(deps.storage),
      checkWrites: ({ scope, actor }) =>
        deps.files.checkWrites({ userId: toUserId(scope), actor, scopes: [scope] }),
      history: pluginHistory(plugin, deps),
      tryChecks: (scope) => deps.tryChecks(scope),
      async logReads(files, options) {
        checkRunId(options.runId);
        await deps.files.hostReads(files, options);
      },
    } satisfies HostMemory),
    async write(changes, options) {
      if (options.runId !== undefined) checkRunId(options.runId);
      return deps.files.hostWrite(changes, { ...options, plugin: plugin.name });
    },
    tools: Object.freeze({
      listTools: () => deps.tools.listTools(),
      execute: (name, request) => deps.tools.execute(name, request),
    } satisfies ToolRunner),
    stores: deps.stores,
    runs: pluginRuns(plugin, deps),
    trace(run) {
      if (!RUN_NAME.test(run.name)) {
        throw invalid(
          plugin,
          `a run's name is 1 to 64 of a-z . _ -, not ${JSON.stringify(run.name)}`,
        );
      }
      checkRunId(run.runId);
      return startRun(run, deps);
    },
    config: pluginConfig(plugin, deps),
    lease: (name, { ttlMs }) => claimLease(plugin, { leases: deps.storage.leases, name, ttlMs }),
  } satisfies Host);

  /** Adds what `setup` returned. */
  function add({ tools = [], routes = [], exporters = [], screeners = [] }: PluginParts): void {
    for (const tool of tools) deps.addTool(guardTool(tool, { plugin, log, inCall }));
    for (const route of routes) {
      deps.addRoute({
        ...route,
        // The deadline works on native promises only; `await` makes one of any thenable.
        handle: async (request) => await route.handle(request),
      });
    }
    for (const exporter of exporters) deps.addExporter(guardExporter(exporter, inHook));
    for (const screener of screeners) deps.addScreener(screener);
  }

  async function runHook(name: 'start' | 'close'): Promise<void> {
    try {
      await inHook(name, () => parts[name]?.());
    } catch (error) {
      log.error({ error: describeError(error), hook: name }, 'a plugin hook failed');
    }
  }

  return {
    name: plugin.name,
    async setUp() {
      checkPlugin(plugin);
      try {
        const given: unknown = await inHook('setup', () => plugin.setup(host));
        parts = checkParts(plugin, given);
        add(parts);
      } catch (error) {
        const named = `The plugin ${plugin.name}`;
        if (!(error instanceof MemoryError)) {
          throw new MemoryError('INTERNAL', `${named} failed in setup.`, { cause: error });
        }
        if (error.message.startsWith(named)) throw error;
        throw new MemoryError(error.code, `${named}: ${error.message}`, { cause: error.cause });
      }
    },
    start: () => runHook('start'),
    close: () => runHook('close'),
  };
}

function checkPlugin(plugin: Plugin): void {
  if (typeof plugin.name !== 'string' || !PLUGIN_NAME.test(plugin.name)) {
    throw new MemoryError(
      'INVALID_REQUEST',
      `A plugin's name is 1 to 64 of a-z 0-9 -, the first a letter; not ${JSON.stringify(plugin.name)}.`,
    );
  }
  // From JavaScript, or from a package that was built for another version.
  const apiVersion: unknown = plugin.apiVersion;
  if (apiVersion !== API_VERSION) {
    const made = `it was made for version ${String(apiVersion)} of the plugin API; this service has version ${API_VERSION}`;
    throw invalid(plugin, apiVersion === 1 ? `${made}. ${FROM_VERSION_1}` : made);
  }
  if (typeof plugin.setup !== 'function') throw invalid(plugin, 'it has no setup function');
  if (plugin.optionsSchema === undefined) {
    if (plugin.options !== undefined) {
      throw invalid(plugin, 'it has options, and no optionsSchema to check them by');
    }
    return;
  }
  try {
    assertSchema(plugin.optionsSchema);
  } catch (error) {
    throw new MemoryError(
      'INVALID_REQUEST',
      `The plugin ${plugin.name} has an optionsSchema that is not valid JSON Schema.`,
      { cause: error },
    );
  }
  try {
    compileSchema(plugin.optionsSchema)(plugin.options ?? {});
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    throw new MemoryError(
      'INVALID_REQUEST',
      `Options of the plugin ${plugin.name}: ${error.message}`,
      { details: error.details },
    );
  }
}

const LISTS = ['tools', 'routes', 'exporters', 'screeners'] as const;
const HOOKS = ['start', 'close'] as const;

/** From JavaScript, `setup` may return anything. A member that is not known may be a typing error. */
function checkParts(plugin: Plugin, given: unknown): PluginParts {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null) {
    throw invalid(plugin, 'setup returns an object with what the plugin adds, or nothing');
  }
  const parts = given as Record<string, unknown>;
  const known: readonly string[] = [...LISTS, ...HOOKS];
  for (const name of Object.keys(parts)) {
    if (known.includes(name)) continue;
    throw invalid(plugin, `setup returns ${known.join(', ')}; not ${JSON.stringify(name)}`);
  }
  for (const name of LISTS) {
    if (parts[name] === undefined || Array.isArray(parts[name])) continue;
    throw invalid(plugin, `${name} is not an array`);
  }
  for (const name of HOOKS) {
    if (parts[name] === undefined || typeof parts[name] === 'function') continue;
    throw invalid(plugin, `${name} is not a function`);
  }
  return parts as PluginParts;
}

function readMemory(storage: Pick<Storage, 'files'>): Pick<HostMemory, 'users' | 'list' | 'read'> {
  return {
    async users({ after, limit }) {
      const page = { limit, order: 'asc', after: after === null ? null : [after] } as const;
      return (await storage.files.listUsers({}, page)).items;
    },
    async list(scope, options) {
      const files = await storage.files.list(scope, options);
      return files.map(({ path, version, size, updatedAt }) => ({
        path,
        version,
        size,
        updatedAt,
      }));
    },
    async read(scope, path) {
      const file = await storage.files.get({ scope, path });
      return file === null || file.deletedAt !== null ? null : file;
    },
  };
}

/** Each change is audited, in its own transaction. */
function pluginConfig(plugin: Plugin, deps: PluginHostDependencies): PluginConfig {
  function checkKey(key: string): void {
    if (key !== '' && !key.startsWith(RESERVED_CONFIG_PREFIX)) return;
    throw invalid(plugin, `a setting's key has a prefix of the plugin's own, not "${key}"`);
  }
  return Object.freeze({
    async entries(prefix) {
      checkKey(prefix);
      return deps.storage.config.entries(prefix);
    },
    async set(entries, caller, counter) {
      const keys = Object.keys(entries);
      [...keys, ...(counter === undefined ? [] : [counter.key])].forEach(checkKey);
      if (keys.length === 0) return;
      const action = `${plugin.name}.config`;
      const audit = {
        id: deps.ids.next(),
        at: deps.now(),
        action,
        target: keys.join(', '),
        details: { ...entries },
        operator: caller?.operator ?? null,
        address: caller?.address ?? null,
        traceId: caller?.traceId ?? null,
      };
      await withLastChange(deps.storage.audit, { actions: [action] }, () =>
        deps.storage.config.set(entries, audit, counter),
      );
    },
  } satisfies PluginConfig);
}

/** A run that is reverted ends with the last files, or alone where the last ones are as they were. */
function pluginHistory({ name }: Plugin, deps: PluginHostDependencies): PluginHistory {
  return Object.freeze({
    ...deps.history,
    async revertRun(scope, runId, { links = [], except = [], lease, with: change, ...options }) {
      const what = { ...options, links, except };
      if (change === undefined) return deps.history.revertRun(scope, runId, what);
      let hasEnded = false;
      const end: RevertEnd = {
        key: { plugin: name, scope, id: runId },
        guards: lease === undefined ? undefined : [lease],
        change: (current, files) => withAudit(change(files, current), deps),
        ended: () => (hasEnded = true),
      };
      const files = await deps.history.revertRun(scope, runId, { ...what, end });
      if (hasEnded) return files;
      const store = deps.storage.runs?.of(name);
      if (store === undefined) throw new MemoryError('INTERNAL', 'The storage keeps no runs.');
      const request = { scope, runId, ...(lease === undefined ? {} : { lease }) };
      await store.update(request, (current) => ({
        result: null,
        ...withAudit(change(files, current), deps),
      }));
      return files;
    },
  } satisfies PluginHistory);
}

/** The rows of a run's change, with the audit row of its facts. */
function withAudit(
  { audit, ...rows }: RunChange,
  deps: PluginHostDependencies,
): Omit<RunDecision<unknown>, 'result'> {
  if (audit === undefined) return rows;
  const { caller, ...facts } = audit;
  return { ...rows, audit: toAuditRecord(deps.ids, { ...facts, ...caller }) };
}

/** The plugin's own rows, each change that a person asked for with its audit row. */
function pluginRuns({ name }: Plugin, deps: PluginHostDependencies): PluginRuns | null {
  const store = deps.storage.runs?.of(name);
  if (store === undefined) return null;
  return Object.freeze({
    newId: () => deps.ids.next(),
    create: ({ id, scope }) => toNewRun({ id, scope, plugin: name, createdAt: deps.now() }),
    scopeLease(scope) {
      assertScope(scope);
      return scopeLeaseOf(name, scope);
    },
    budget: runBudgetOf,
    user: (scope) => store.user(scope),
    changedUsers: (page) => store.changedUsers(page),
    listUsers: (filter, page) => store.listUsers(filter, page),
    run: (id) => store.run(id),
    listRuns: (filter, page) => store.listRuns(filter, page),
    countTokens: (day) => store.countTokens(day),
    countWaiting: () => store.countWaiting(),
    update: (request, decide) =>
      store.update(request, (current) => {
        const { result, ...change } = decide(current);
        return { result, ...withAudit(change, deps) };
      }),
  } satisfies PluginRuns);
}

function toNewRun(run: Pick<RunRecord, 'id' | 'scope' | 'plugin' | 'createdAt'>): RunRecord {
  assertScope(run.scope);
  return {
    ...run,
    origin: 'manual',
    mode: 'auto',
    dryRun: false,
    state: 'queued',
    outcome: null,
    startedAt: null,
    endedAt: null,
    watermark: null,
    fence: null,
    details: '{}',
    filesRead: 0,
    filesTouched: 0,
    writes: 0,
    inputTokens: 0,
    outputTokens: 0,
    applied: 0,
    waiting: 0,
    isWaiting: false,
    dropped: 0,
    model: null,
    promptVersion: null,
    errorCode: null,
    errorMessage: null,
  };
}

/** A root of its own: a plugin's run belongs to no tool call. */
function startRun(
  { name, runId, scope, actor }: TracedRun,
  deps: PluginHostDependencies,
): RunTrace {
  assertScope(scope);
  const root = new RootTrace({
    ids: deps.ids,
    kind: 'dream.run',
    name,
    scope,
    userId: toUserId(scope),
    tool: null,
    actor,
    toolCallId: runId,
    callerToolCallId: null,
    parent: null,
    startedAt: deps.now(),
    knownErasure: deps.latestErasure(),
  });
  let isFinished = false;
  return Object.freeze({
    traceId: root.traceId,
    knownErasure: root.knownErasure,
    start: (kind, span) => root.start(kind, span),
    finish(error, attributes) {
      if (isFinished) return;
      isFinished = true;
      deps.record(root.finish(error, attributes));
    },
  } satisfies RunTrace);
}

async function claimLease(
  plugin: Plugin,
  { leases, name, ttlMs }: Pick<Storage, 'leases'> & { name: string; ttlMs: number },
): Promise<Lease | null> {
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1) {
    throw invalid(plugin, `a lease lasts a whole number of milliseconds, not ${String(ttlMs)}`);
  }
  // A holder of its own for each claim: two claims of one process exclude each other too.
  const fence = await leases.claim(name, `${plugin.name}:${randomUUID()}`, ttlMs);
  if (fence === null) return null;
  return Object.freeze({
    guard: Object.freeze({ kind: 'lease', name, fence }),
    renew: () => leases.renew(name, fence, ttlMs),
    release: () => leases.release(name, fence),
  } satisfies Lease);
}

function guardTool(
  tool: ToolDefinition,
  { plugin, log, inCall }: { plugin: Plugin; log: Logger; inCall: Limited },
): ToolDefinition {
  if (typeof tool.run !== 'function') {
    throw invalid(plugin, `the tool ${JSON.stringify(tool.name)} has no run function`);
  }
  if (!TOOL_NAME.test(tool.name)) {
    throw invalid(
      plugin,
      `a tool's name is 1 to 64 of a-z 0-9 _, not ${JSON.stringify(tool.name)}`,
    );
  }
  const { unavailable } = tool;
  return {
    ...tool,
    deadlineMs: null,
    run: (services, args, call) =>
      inCall(`tool ${tool.name}`, () => tool.run(services, args, call)),
    // Asked for every list of the tools: a throw here would take the others' lines with it.
    ...(unavailable === undefined
      ? {}
      : {
          unavailable(services) {
            try {
              return unavailable.call(tool, services);
            } catch (error) {
              log.error(
                { error: describeError(error), tool: tool.name },
                'a plugin tool cannot say whether it is available',
              );
              return 'INTERNAL';
            }
          },
        }),
  };
}

function guardExporter(exporter: TraceExporter, inHook: Limited): TraceExporter {
  const what = `exporter ${exporter.name}`;
  const { counters, activeContext, runWithin } = exporter;
  return {
    name: exporter.name,
    open: (service) => inHook(what, () => exporter.open?.(service)),
    ...(counters === undefined ? {} : { counters: counters.bind(exporter) }),
    ...(activeContext === undefined ? {} : { activeContext: activeContext.bind(exporter) }),
    ...(runWithin === undefined ? {} : { runWithin: runWithin.bind(exporter) }),
    export: (events) => inHook(what, () => exporter.export(events)),
    close: () => inHook(what, () => exporter.close?.()),
  };
}

/** Runs a plugin's code, named by `what`, for a limited time. */
type Limited = <T>(what: string, work: () => T | Promise<T>) => Promise<T>;

/**
 * Limits a plugin's code to `limitMs`; then its promise rejects with `INTERNAL`. The code itself can't
 * be stopped: its late result is dropped, and a late failure is logged.
 */
function limitTo(limitMs: number, log: Logger): Limited {
  return async (what, work) => {
    // Inside the async function, so that a synchronous throw is a rejection, too.
    const running = Promise.resolve(work());
    let isOver = false;
    running.catch((error: unknown) => {
      if (isOver)
        log.warn({ error: describeError(error), what }, 'plugin code failed after its time limit');
    });
    return await withDeadline(running, limitMs, () => {
      isOver = true;
      return new MemoryError('INTERNAL', `A plugin's ${what} took longer than ${limitMs} ms.`);
    });
  };
}

function withPluginName(log: Logger, plugin: string): Logger {
  return Object.freeze({
    debug: (fields, message) => log.debug({ plugin, ...fields }, message),
    info: (fields, message) => log.info({ plugin, ...fields }, message),
    warn: (fields, message) => log.warn({ plugin, ...fields }, message),
    error: (fields, message) => log.error({ plugin, ...fields }, message),
  } satisfies Logger);
}

function invalid(plugin: Plugin, message: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', `The plugin ${plugin.name}: ${message}.`);
}
