import { MemoryError } from '../../core/errors.ts';

/** How spans are put on the wire: both over HTTP. */
export type Protocol = 'http/protobuf' | 'http/json';

/** What `otlp()` takes. Missing options come from `environment`, then from OpenTelemetry's defaults. */
export interface OtlpOptions {
  /** Of the collector, without the path: `http://127.0.0.1:4318`. */
  endpoint?: string;
  /** Default `http/protobuf`. */
  protocol?: Protocol;
  /** Sent with each request, as in `{ authorization: 'Bearer …' }`. */
  headers?: Readonly<Record<string, string>>;
  /** Default `memory-service`. */
  serviceName?: string;
  /** The standard `OTEL_*` variables; none by default. The command passes its own. */
  environment?: Readonly<Record<string, string | undefined>>;
}

/** Checked settings. */
export interface OtlpSettings {
  protocol: Protocol;
  headers: Readonly<Record<string, string>>;
  /** Room for spans that wait or are on their way. */
  maxSpans: number;
  /** Variables for the SDK, which parses them itself. */
  environment: Readonly<Record<string, string>>;
}

/** Returns the value for the SDK; throws an `Error` that says what it must be. */
type Rule = (value: string) => string;

const PREFIX = 'OTEL_EXPORTER_OTLP_';
const PROTOCOL = `${PREFIX}PROTOCOL`;
const ENDPOINT = `${PREFIX}ENDPOINT`;
const PROTOCOLS = ['http/protobuf', 'http/json'] satisfies Protocol[];

/** By variable. The same rule holds for the variable of traces, `OTEL_EXPORTER_OTLP_TRACES_…`. */
const RULES: Readonly<Record<string, Rule>> = {
  [ENDPOINT]: toHttpUrl,
  [PROTOCOL]: oneOf(PROTOCOLS, 'collectors take gRPC on another port than HTTP, which is 4318'),
  [`${PREFIX}HEADERS`]: toPairs,
  [`${PREFIX}TIMEOUT`]: wholeFrom(1),
  [`${PREFIX}COMPRESSION`]: oneOf(['gzip', 'none']),
  OTEL_RESOURCE_ATTRIBUTES: toPairs,
  OTEL_TRACES_SAMPLER: oneOf([
    ...['always_on', 'always_off', 'traceidratio'],
    ...['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'],
  ]),
  OTEL_TRACES_SAMPLER_ARG: toRatio,
  OTEL_BSP_MAX_QUEUE_SIZE: wholeFrom(1),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: wholeFrom(1),
  OTEL_BSP_SCHEDULE_DELAY: wholeFrom(0),
  OTEL_BSP_EXPORT_TIMEOUT: wholeFrom(1),
};

/**
 * Checks the options and the `OTEL_*` variables, and turns both into variables for the SDK. The SDK
 * would replace an invalid value with its default, and tell only the app's diagnostics. Throws
 * `INVALID_REQUEST` that names the option or variable, the problem and what is allowed.
 */
export function readSettings(options: OtlpOptions): OtlpSettings {
  const { endpoint, protocol, headers = {}, serviceName } = options;
  const given = effectiveOf(options);
  const environment: Record<string, string> = {};
  for (const [name, value] of given) environment[name] = check(name, value, name);
  if (endpoint !== undefined) environment[ENDPOINT] = check(ENDPOINT, endpoint, 'endpoint');
  if (protocol !== undefined) environment[PROTOCOL] = check(PROTOCOL, protocol, 'protocol');
  if (serviceName !== undefined) environment['OTEL_SERVICE_NAME'] = serviceName;
  const found = environment[toTraces(PROTOCOL)] ?? environment[PROTOCOL] ?? 'http/protobuf';
  return {
    protocol: found as Protocol,
    headers,
    maxSpans: Number(environment['OTEL_BSP_MAX_QUEUE_SIZE'] ?? 2_048),
    environment,
  };
}

/** The variables that count: not empty, and not overruled by an option or a variable of traces. */
function effectiveOf({ endpoint, protocol, environment = {} }: OtlpOptions): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value = ''] of Object.entries(environment)) {
    if (value.trim() !== '') given.set(name, value.trim());
  }
  for (const name of Object.keys(RULES)) {
    const isMerged = name.endsWith('_HEADERS');
    if (!isMerged && given.has(toTraces(name)) && name !== toTraces(name)) given.delete(name);
  }
  const overruled = [
    ...(endpoint === undefined ? [] : [ENDPOINT, toTraces(ENDPOINT)]),
    ...(protocol === undefined ? [] : [PROTOCOL, toTraces(PROTOCOL)]),
    ...(given.get('OTEL_TRACES_SAMPLER')?.endsWith('ratio') === true
      ? []
      : ['OTEL_TRACES_SAMPLER_ARG']),
  ];
  for (const name of overruled) given.delete(name);
  return given;
}

function toTraces(name: string): string {
  return name.replace(PREFIX, `${PREFIX}TRACES_`);
}

function check(name: string, value: string, origin: string): string {
  const general = name.replace(`${PREFIX}TRACES_`, PREFIX);
  const rule = Object.hasOwn(RULES, general) ? RULES[general] : undefined;
  try {
    return rule === undefined ? value : rule(value);
  } catch (error) {
    throw new MemoryError('INVALID_REQUEST', `${origin} ${(error as Error).message}.`);
  }
}

function toHttpUrl(value: string): string {
  if (/^https?:/i.test(value) && URL.canParse(value)) return value;
  // Never quote a URL: it may hold a password.
  throw new Error('must be an http:// or https:// URL, as in http://127.0.0.1:4318');
}

/** `key=value` pairs with commas between them, each key and value percent-encoded. */
function toPairs(value: string): string {
  const pairs = value.split(',').filter((pair) => pair.trim() !== '');
  return pairs.map(toPair).join(',');
}

/** Encodes anew: the SDK drops what follows a bare `;`, and all attributes at a second `=`. */
function toPair(pair: string): string {
  const at = pair.indexOf('=');
  const parts = [pair.slice(0, at), pair.slice(at + 1)].map((part) => part.trim());
  try {
    if (at > 0 && parts[0] !== '') {
      return parts.map((part) => encodeURIComponent(decodeURIComponent(part))).join('=');
    }
  } catch {
    // Not percent-encoded: as wrong as a pair without a key.
  }
  // Never quote a pair: it may be a secret.
  throw new Error('must be a list of key=value pairs with commas between them');
}

function toRatio(value: string): string {
  if (Number(value) >= 0 && Number(value) <= 1) return value;
  throw new Error('must be from 0 to 1');
}

function wholeFrom(least: number): Rule {
  return (value) => {
    const number = Number(value);
    // A longer timer fires at once.
    if (Number.isInteger(number) && number >= least && number < 2 ** 31) return value;
    throw new Error(`must be a whole number from ${least}, not ${JSON.stringify(value)}`);
  };
}

function oneOf(allowed: readonly string[], hint = ''): Rule {
  return (value) => {
    if (allowed.includes(value)) return value;
    const more = hint === '' ? '' : `; ${hint}`;
    throw new Error(`must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}${more}`);
  };
}
