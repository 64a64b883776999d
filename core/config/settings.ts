import Type, { type Static } from 'typebox';
import { isTimeZone } from '../time/time-zone.ts';
import { isAllowedBaseUrl } from './base-url.ts';
import { isInboxPath } from '../files/inbox-path.ts';
import type { Option, ReadOptions } from './option.ts';

/** One setting. This is the only place for its name, schema, default and description. */
interface Setting extends Option {
  /** Environment variable; the flag is the same without `SERVICE_`, in kebab-case. */
  env: string;
  /** Only for the `memory-service` command; `createMemoryService` does not take it. */
  isOfCommand?: true;
}

const text = (pattern: string, maxLength = 2048) =>
  Type.String({ pattern, minLength: 1, maxLength });
const integer = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
const list = (pattern: string) => Type.Array(text(pattern), { minItems: 1, maxItems: 100 });

const ANY = '^[^\\u0000]+$';
const PLUGIN = '^[^\\s\\u0000]+$';
const HTTP_URL = '^https?://[^\\s]+$';
const BASE_URL_ALLOWED =
  'an https:// address, or an http:// one of this machine or a private network';
const PLUGIN_ALLOWED = 'the name of a plugin, as in openai';

/** Every setting by its key in `memory.config`; a dot is a level of nesting. */
export const SETTINGS = {
  host: {
    schema: text('^[A-Za-z0-9.:_%\\[\\]-]+$', 253),
    default: '127.0.0.1',
    env: 'SERVICE_HOST',
    description: 'Address to listen on.',
    allowed: 'an IP address or a host name',
    isOfCommand: true,
  },
  port: {
    schema: integer(0, 65_535),
    default: 8787,
    env: 'SERVICE_PORT',
    description: 'Port to listen on; 0 takes a free one.',
    isOfCommand: true,
  },
  basePath: {
    schema: text('^(/[A-Za-z0-9._~-]+)+$', 200),
    default: '',
    env: 'SERVICE_BASE_PATH',
    description: 'Prefix of every route and of the console.',
    allowed: 'a path as in /memory, without a slash at its end',
  },
  allowedHosts: {
    schema: list('^(\\*|[A-Za-z0-9.:_\\[\\]-]+)$'),
    default: null,
    env: 'SERVICE_ALLOWED_HOSTS',
    description: 'Accepted Host values; default the loopback names and SERVICE_HOST.',
    allowed: 'host names, separated by commas',
  },
  trustProxy: {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_TRUST_PROXY',
    description: "Take the client's address from X-Forwarded-For.",
  },
  databaseUrl: {
    schema: text('^(sqlite:[^\\u0000]+|(mysql|postgres|postgresql)://[^\\s\\u0000]+)$'),
    default: 'sqlite:./data/memory.db',
    env: 'SERVICE_DATABASE_URL',
    description: 'Where memory is kept.',
    allowed:
      'sqlite:<file>, sqlite::memory:, mysql://user:password@host:port/db or postgres://user:password@host:port/db',
    isOfCommand: true,
  },
  apiKey: {
    schema: list(ANY),
    default: null,
    env: 'SERVICE_API_KEY',
    description: 'Key of the tools API; several, comma-separated, while rotating.',
    allowed: 'text of 32 characters or more, or several separated by commas',
    isSecret: true,
  },
  adminSecret: {
    schema: text(ANY),
    default: null,
    env: 'SERVICE_ADMIN_SECRET',
    description: 'Secret of the admin API.',
    allowed: 'text of 32 characters or more',
    isSecret: true,
  },
  operatorHeader: {
    schema: text('^[A-Za-z0-9-]+$', 100),
    default: null,
    env: 'SERVICE_OPERATOR_HEADER',
    description: 'Header in which a proxy names the operator, with SERVICE_PROXY_SECRET.',
    allowed: 'the name of a header, as in x-forwarded-email',
  },
  operatorRoles: {
    schema: list('^[^\\s,\\u0000]+$'),
    default: null,
    env: 'SERVICE_OPERATOR_ROLES',
    description: 'Roles of the operators whom a proxy names; an exact name counts first.',
    allowed:
      'names or *<end>, each with a role, as in alice@example.com:admin,*@example.com:viewer',
  },
  proxySecret: {
    schema: text(ANY),
    default: null,
    env: 'SERVICE_PROXY_SECRET',
    description: 'What the proxy that signs operators in sends as x-admin-secret.',
    allowed: 'text of 32 characters or more, unlike the other secrets',
    isSecret: true,
  },
  memoryStores: {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_MEMORY_STORES',
    description: 'Serve spaces as memory stores, at /v1/memory_stores.',
  },
  mcpResourceMetadata: {
    schema: text(HTTP_URL),
    default: null,
    env: 'SERVICE_MCP_RESOURCE_METADATA',
    description: 'Named in the WWW-Authenticate of a 401 of /v1/mcp, for clients of a gateway.',
    allowed: 'an http:// or https:// address',
  },
  auditReads: {
    schema: Type.Boolean(),
    default: true,
    env: 'SERVICE_AUDIT_READS',
    description: 'Keep in the audit which contents operators saw.',
  },
  docsPath: {
    schema: text(ANY),
    default: null,
    env: 'SERVICE_DOCS_PATH',
    description: 'Directory behind /v1/docs; default the bundled one.',
    allowed: 'a directory',
  },
  'dream.enabled': {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_DREAM_ENABLED',
    description: 'Start the scheduler of dreaming.',
  },
  'model.provider': {
    schema: text(PLUGIN, 214),
    default: null,
    env: 'SERVICE_MODEL_PROVIDER',
    description: 'Model provider; openai speaks to any OpenAI-compatible server.',
    allowed: PLUGIN_ALLOWED,
    isOfCommand: true,
  },
  'model.baseUrl': {
    schema: text(HTTP_URL),
    default: null,
    env: 'SERVICE_MODEL_BASE_URL',
    description: "Base URL of the model provider's API.",
    allowed: BASE_URL_ALLOWED,
    check: isAllowedBaseUrl,
    isOfCommand: true,
  },
  'model.apiKey': {
    schema: text(ANY),
    default: null,
    env: 'SERVICE_MODEL_API_KEY',
    description: 'Key of the model provider.',
    allowed: 'text',
    isSecret: true,
    isOfCommand: true,
  },
  'model.name': {
    schema: text(ANY, 200),
    default: null,
    env: 'SERVICE_MODEL_NAME',
    description: 'Name of the model.',
    allowed: 'text',
    isOfCommand: true,
  },
  'verifier.name': {
    schema: text(ANY, 200),
    default: null,
    env: 'SERVICE_VERIFIER_NAME',
    description: 'Name of the model that judges proposed edits; default the same model.',
    allowed: 'text',
    isOfCommand: true,
  },
  'embedder.provider': {
    schema: text(PLUGIN, 214),
    default: null,
    env: 'SERVICE_EMBEDDING_PROVIDER',
    description: 'Embedding provider; openai speaks to any OpenAI-compatible server.',
    allowed: PLUGIN_ALLOWED,
    isOfCommand: true,
  },
  'embedder.baseUrl': {
    schema: text(HTTP_URL),
    default: null,
    env: 'SERVICE_EMBEDDING_BASE_URL',
    description: "Base URL of the embedding provider's API.",
    allowed: BASE_URL_ALLOWED,
    check: isAllowedBaseUrl,
    isOfCommand: true,
  },
  'embedder.apiKey': {
    schema: text(ANY),
    default: null,
    env: 'SERVICE_EMBEDDING_API_KEY',
    description: 'Key of the embedding provider.',
    allowed: 'text',
    isSecret: true,
    isOfCommand: true,
  },
  'embedder.name': {
    schema: text(ANY, 200),
    default: null,
    env: 'SERVICE_EMBEDDING_NAME',
    description: 'Name of the embedding model.',
    allowed: 'text',
    isOfCommand: true,
  },
  'embedder.dimensions': {
    schema: integer(1, 65_536),
    default: null,
    env: 'SERVICE_EMBEDDING_DIMENSIONS',
    description: 'Length of a vector.',
    isOfCommand: true,
  },
  'embedder.maxTokens': {
    schema: integer(128, 1_000_000),
    default: null,
    env: 'SERVICE_EMBEDDING_MAX_TOKENS',
    description:
      'Most tokens of a text that the model reads; longer passages are embedded in parts.',
    isOfCommand: true,
  },
  'embedder.questionPrefix': {
    schema: text(ANY, 1_000),
    default: null,
    env: 'SERVICE_EMBEDDING_QUESTION_PREFIX',
    description: 'Text before each question, if the embedding model was trained with one.',
    allowed: 'text',
    isOfCommand: true,
  },
  'embedder.passagePrefix': {
    schema: text(ANY, 1_000),
    default: null,
    env: 'SERVICE_EMBEDDING_PASSAGE_PREFIX',
    description: 'Text before each passage; another one has all passages embedded again.',
    allowed: 'text',
    isOfCommand: true,
  },
  'limits.maxFileBytes': {
    schema: integer(1, 67_108_864),
    default: 262_144,
    env: 'SERVICE_MAX_FILE_BYTES',
    description: 'Bytes of one memory file.',
  },
  'limits.maxBodyBytes': {
    schema: integer(1_024, 268_435_456),
    default: 1_048_576,
    env: 'SERVICE_MAX_BODY_BYTES',
    description: 'Bytes of one request body.',
  },
  'limits.maxFilesPerUser': {
    schema: integer(1, 1_000_000),
    default: 5_000,
    env: 'SERVICE_MAX_FILES_PER_USER',
    description: 'Memory files of one user.',
  },
  timeZone: {
    schema: text('^[A-Za-z0-9_+/-]+$', 64),
    default: 'UTC',
    env: 'SERVICE_TIME_ZONE',
    description: 'Time zone of relative dates where a caller names none.',
    allowed: 'a time zone as in Europe/Berlin',
    check: isTimeZone,
  },
  replyTokens: {
    schema: integer(256, 1_000_000),
    default: 16_000,
    env: 'SERVICE_REPLY_TOKENS',
    description: 'Tokens of one reply of the model, those of its reasoning included.',
  },
  modelContext: {
    schema: integer(0, 100_000_000),
    default: 0,
    env: 'SERVICE_MODEL_CONTEXT',
    description: 'Tokens of a prompt with its reply; 0: as the provider says, else no limit.',
    allowed: 'a whole number from 1,024, or 0',
    check: (tokens) => Number(tokens) === 0 || Number(tokens) >= 1_024,
  },
  modelPrompts: {
    schema: Type.Enum(['auto', 'full', 'short']),
    default: 'auto',
    env: 'SERVICE_MODEL_PROMPTS',
    description: 'Prompts of the model; auto: by its exam, else short below 8,192 tokens.',
    allowed: 'auto, full or short',
  },
  'context.fill': {
    schema: Type.Boolean(),
    default: true,
    env: 'SERVICE_CONTEXT_FILL',
    description: 'Give memory that fits whole in memory_context, unless a call says otherwise.',
  },
  inboxPath: {
    schema: text('^user/[^\\u0000]+\\.md$', 200),
    default: 'user/inbox.md',
    env: 'SERVICE_INBOX_PATH',
    description: 'Memory file of facts that could not be filed.',
    allowed: 'a path below user/ that ends in .md, and is neither the catalog nor a log',
    check: isInboxPath,
  },
  sharedWrites: {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_SHARED_WRITES',
    description: 'May the tools write shared memory?',
  },
  'screen.secrets': {
    schema: Type.Enum(['off', 'warn', 'mask', 'refuse']),
    default: 'warn',
    env: 'SERVICE_SCREEN_SECRETS',
    description: 'What happens to keys, tokens, passwords, cards and IBANs in written text.',
  },
  'screen.personal': {
    schema: Type.Enum(['off', 'warn', 'mask', 'refuse']),
    default: 'off',
    env: 'SERVICE_SCREEN_PERSONAL',
    description: 'What happens to national ids, e-mail addresses and phone numbers in it.',
  },
  'screen.patterns': {
    schema: text(ANY),
    default: null,
    env: 'SERVICE_SCREEN_PATTERNS',
    description: 'File of own patterns, one on a line, as in employee number: EMP-\\d{6}.',
    allowed: 'a file',
  },
  rateLimit: {
    schema: integer(0, 1_000_000),
    default: 0,
    env: 'SERVICE_RATE_LIMIT',
    description: 'Tool calls a minute for each user; 0 is off.',
  },
  'tools.delete': {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_TOOLS_DELETE',
    description: 'Offer memory_delete.',
  },
  'tools.move': {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_TOOLS_MOVE',
    description: 'Offer memory_move.',
  },
  'tools.history': {
    schema: Type.Boolean(),
    default: false,
    env: 'SERVICE_TOOLS_HISTORY',
    description: 'Offer asOf: memory as it stood at an earlier moment.',
  },
  'search.textWeight': {
    schema: Type.Number({ minimum: 0, maximum: 100 }),
    default: 1,
    env: 'SERVICE_SEARCH_TEXT_WEIGHT',
    description: 'How much the words count in a hybrid search; 0 leaves them out.',
  },
  'search.vectorWeight': {
    schema: Type.Number({ minimum: 0, maximum: 100 }),
    default: 0.5,
    env: 'SERVICE_SEARCH_VECTOR_WEIGHT',
    description: 'How much the vectors count in a hybrid search; 0 leaves them out.',
  },
  'search.embedTimeoutMs': {
    schema: integer(1, 60_000),
    default: 1_000,
    env: 'SERVICE_SEARCH_EMBED_TIMEOUT_MS',
    description: 'Milliseconds that a search waits for the embedder; at most 14,000 count.',
  },
  'sla.p95Ms': {
    schema: integer(1, 600_000),
    default: 250,
    env: 'SERVICE_SLA_P95_MS',
    description: '95th percentile of the latency that the SLA watch allows, in milliseconds.',
  },
  'sla.errorRate': {
    schema: Type.Number({ minimum: 0, maximum: 1 }),
    default: 0.01,
    env: 'SERVICE_SLA_ERROR_RATE',
    description: 'Share of failed calls that the SLA watch allows.',
  },
  'sla.minCalls': {
    schema: integer(1, 1_000_000),
    default: 100,
    env: 'SERVICE_SLA_MIN_CALLS',
    description: 'Calls from which on the SLA watch reports a breach; fewer say little.',
  },
  'sla.slowCallMs': {
    schema: integer(1, 600_000),
    default: 1_000,
    env: 'SERVICE_SLOW_CALL_MS',
    description: 'A call that takes longer is listed as slow, in milliseconds.',
  },
  'retention.eventsDays': {
    schema: integer(0, 36_500),
    default: 30,
    env: 'SERVICE_RETENTION_EVENTS_DAYS',
    description: 'Days that traces are kept; 0 keeps them for ever.',
  },
  'retention.accessLogDays': {
    schema: integer(0, 36_500),
    default: 0,
    env: 'SERVICE_RETENTION_ACCESS_LOG_DAYS',
    description: 'Days that the access log is kept; 0 keeps it for ever.',
  },
  'retention.revisionsDays': {
    schema: integer(0, 36_500),
    default: 0,
    env: 'SERVICE_RETENTION_REVISIONS_DAYS',
    description: 'Days that revisions are kept; 0 keeps them for ever.',
  },
  'retention.dreamsDays': {
    schema: integer(0, 36_500),
    default: 90,
    env: 'SERVICE_RETENTION_DREAMS_DAYS',
    description: 'Days that dream runs which have ended are kept; 0 keeps them for ever.',
  },
  checksAt: {
    schema: text('^(off|([01][0-9]|2[0-3]):[0-5][0-9])$', 5),
    default: '03:30',
    env: 'SERVICE_CHECKS_AT',
    description: 'Time of day of the nightly run of the stored checks, in SERVICE_TIME_ZONE.',
    allowed: 'a time as in 03:30, or off',
  },
  logLevel: {
    schema: Type.Enum(['debug', 'info', 'warn', 'error', 'silent']),
    default: 'info',
    env: 'SERVICE_LOG_LEVEL',
    description: 'Least level of the JSON logs on standard error.',
    isOfCommand: true,
  },
} as const satisfies Record<string, Setting>;

/** The key of a setting: `port`, `limits.maxFileBytes`. */
export type SettingKey = keyof typeof SETTINGS;

type Parsed<K extends SettingKey> = Static<(typeof SETTINGS)[K]['schema']>;

/** The value of each setting by its key; `null` if it is not set. */
export type SettingValues = ReadOptions<typeof SETTINGS>;

/** What a config file may give: lists also as one text, separated by commas. */
type FileValue<K extends SettingKey> =
  Parsed<K> extends readonly string[] ? string | readonly string[] : Parsed<K>;

type CommandKey = {
  [K in SettingKey]: (typeof SETTINGS)[K] extends { isOfCommand: true } ? K : never;
}[SettingKey];

/** A setting of the service itself: `limits.maxFileBytes`, not `port`. */
type ServiceKey = Exclude<SettingKey, CommandKey>;

type GroupOf<K> = K extends `${infer G}.${string}` ? G : never;

type Nested<K extends SettingKey> = {
  [N in K as N extends `${string}.${string}` ? never : N]: SettingValues[N];
} & {
  [G in GroupOf<K>]: {
    [N in K as N extends `${G}.${infer Leaf}` ? Leaf : never]: SettingValues[N];
  };
};

/** The settings of the service with every default filled in, nested as in a config file. */
export type Settings = Nested<ServiceKey>;

type GroupName = GroupOf<SettingKey>;

/** The settings of one group, nested as in a config file. */
export type SettingGroup<G extends GroupName> = {
  [K in SettingKey as K extends `${G}.${infer Leaf}` ? Leaf : never]?: FileValue<K>;
};

/** Settings nested as in a config file; `null` means absent. */
export type NestedSettings<Keys extends SettingKey = SettingKey> = {
  [K in Keys as K extends `${string}.${string}` ? never : K]?: FileValue<K> | null;
} & { [G in GroupOf<Keys>]?: SettingGroup<G> | null };

/** The settings that `createMemoryService` takes. */
export type ServiceSettings = NestedSettings<ServiceKey>;

export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];

/** Nests values at the dots of their keys. */
export function nestSettings(values: Readonly<Partial<SettingValues>>): object {
  const nested: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const [group, leaf] = key.split('.') as [string, string | undefined];
    if (leaf === undefined) nested[group] = value;
    else nested[group] = { ...(nested[group] as object | undefined), [leaf]: value };
  }
  return nested;
}

/** The row of {@link SETTINGS}, typed with its optional members. */
export function settingOf(key: SettingKey): Setting {
  return SETTINGS[key];
}

/** `SERVICE_MAX_FILE_BYTES` becomes `max-file-bytes`. */
export function flagOf(key: SettingKey): string {
  return SETTINGS[key].env.replace('SERVICE_', '').toLowerCase().replaceAll('_', '-');
}
