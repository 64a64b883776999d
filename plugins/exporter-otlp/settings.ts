import { MemoryError } from '../../core/errors.ts';

/** How spans are put on the wire: both over HTTP. */
export type Protocol = 'http/protobuf' | 'http/json';

/** What `otlp()` takes. What is left out comes from `environment`, then from OpenTelemetry's default. */
export interface OtlpOptions {
  /** Of the collector, without the path: `http://127.0.0.1:4318`. */
  endpoint?: string;
  /** Default `http/protobuf`. */
  protocol?: Protocol;
  /** Sent with each request, as in `{ authorization: 'Bearer …' }`. */
  headers?: Readonly<Record<string, string>>;
  /** Default `memory-service`. */
  serviceName?: string;
  /** The standard `OTEL_*` variables, where they are to count: the command passes its own. */
  environment?: Readonly<Record<string, string | undefined>>;
}

/** The exporter's settings, each one checked. Durations in milliseconds. */
export interface OtlpSettings {
  /** Of the traces, with its path. */
  url: string;
  protocol: Protocol;
  headers: Record<string, string>;
  timeoutMs: number;
  compression: 'gzip' | 'none';
  /** Files in PEM; `null` for the system's certificates, or none of the client's own. */
  certificateFile: string | null;
  clientCertificateFile: string | null;
  clientKeyFile: string | null;
  resource: Record<string, string>;
  sampler: Sampling;
  queue: {
    maxSpans: number;
    batchSpans: number;
    delayMs: number;
    timeoutMs: number;
  };
}

/** Which traces are exported. */
export interface Sampling {
  isParentBased: boolean;
  /** From 0 (none) to 1 (all), of the traces that begin here, or of all. */
  ratio: number;
}

const PROTOCOLS: readonly string[] = ['http/protobuf', 'http/json'] satisfies Protocol[];
const SAMPLERS: Record<string, { isParentBased: boolean; ratio: number | null }> = {
  always_on: { isParentBased: false, ratio: 1 },
  always_off: { isParentBased: false, ratio: 0 },
  traceidratio: { isParentBased: false, ratio: null },
  parentbased_always_on: { isParentBased: true, ratio: 1 },
  parentbased_always_off: { isParentBased: true, ratio: 0 },
  parentbased_traceidratio: { isParentBased: true, ratio: null },
};

/**
 * Reads the options and the `OTEL_*` variables, by the names and defaults of OpenTelemetry's
 * specification. Throws `INVALID_REQUEST` that names the variable, the problem and what is allowed.
 */
export function readSettings(options: OtlpOptions): OtlpSettings {
  const environment = options.environment ?? {};
  /** What is said of traces comes before what is said of all signals. An empty one is absent. */
  const read = (name: string): Found =>
    [`TRACES_${name}`, name]
      .map((end) => `OTEL_EXPORTER_OTLP_${end}`)
      .map((variable) => ({ variable, value: environment[variable]?.trim() || null }))
      .find(({ value }) => value !== null) ?? {
      variable: `OTEL_EXPORTER_OTLP_${name}`,
      value: null,
    };
  const own = (variable: string): Found => ({
    variable,
    value: environment[variable]?.trim() || null,
  });
  return {
    url: readUrl(options.endpoint, read('ENDPOINT')),
    protocol: readProtocol(options.protocol, read('PROTOCOL')),
    headers: {
      ...readPairs(own('OTEL_EXPORTER_OTLP_HEADERS')),
      ...readPairs(own('OTEL_EXPORTER_OTLP_TRACES_HEADERS')),
      ...options.headers,
    },
    timeoutMs: readNumber(read('TIMEOUT'), { least: 1, byDefault: 10_000 }),
    compression: readOneOf(read('COMPRESSION'), ['gzip', 'none'], 'none'),
    certificateFile: read('CERTIFICATE').value,
    clientCertificateFile: read('CLIENT_CERTIFICATE').value,
    clientKeyFile: read('CLIENT_KEY').value,
    resource: readResource(
      options.serviceName,
      own('OTEL_SERVICE_NAME'),
      own('OTEL_RESOURCE_ATTRIBUTES'),
    ),
    sampler: readSampler(own('OTEL_TRACES_SAMPLER'), own('OTEL_TRACES_SAMPLER_ARG')),
    queue: {
      maxSpans: readNumber(own('OTEL_BSP_MAX_QUEUE_SIZE'), { least: 1, byDefault: 2_048 }),
      batchSpans: readNumber(own('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'), { least: 1, byDefault: 512 }),
      delayMs: readNumber(own('OTEL_BSP_SCHEDULE_DELAY'), { least: 0, byDefault: 5_000 }),
      timeoutMs: readNumber(own('OTEL_BSP_EXPORT_TIMEOUT'), { least: 1, byDefault: 30_000 }),
    },
  };
}

/** A variable, and what it says. */
interface Found {
  variable: string;
  value: string | null;
}

const TRACES_PATH = 'v1/traces';

function readUrl(endpoint: string | undefined, found: Found): string {
  const variable = endpoint === undefined ? found.variable : 'endpoint';
  const base = endpoint ?? found.value ?? 'http://localhost:4318';
  const url = URL.canParse(base) ? new URL(base) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    // A URL may hold a password: what it says is not repeated.
    throw invalid(variable, 'must be an http:// or https:// URL, as in http://127.0.0.1:4318');
  }
  // The endpoint of one signal is taken as it is, that of all gets the signal's path.
  if (variable === 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') return url.href;
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${TRACES_PATH}`;
  return url.href;
}

function readProtocol(given: string | undefined, { variable, value }: Found): Protocol {
  const protocol = given ?? value ?? 'http/protobuf';
  if (PROTOCOLS.includes(protocol)) return protocol as Protocol;
  const more = protocol === 'grpc' ? '; collectors take them on port 4318' : '';
  throw invalid(
    given === undefined ? variable : 'protocol',
    `must be one of ${PROTOCOLS.join(', ')}, not ${JSON.stringify(protocol)}${more}`,
  );
}

function readResource(
  given: string | undefined,
  name: Found,
  attributes: Found,
): Record<string, string> {
  const read = readPairs(attributes);
  const serviceName = given ?? name.value ?? read['service.name'] ?? 'memory-service';
  return { ...read, 'service.name': serviceName };
}

/** `key=value` pairs with commas between them, values percent-encoded: as W3C Baggage. */
function readPairs({ variable, value }: Found): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of (value ?? '').split(',')) {
    if (pair.trim() === '') continue;
    const at = pair.indexOf('=');
    const key = pair.slice(0, at).trim();
    const decoded = decode(pair.slice(at + 1).trim());
    if (at < 1 || key === '' || decoded === null) {
      // What it says may be a secret.
      throw invalid(variable, 'must be a list of key=value pairs with commas between them');
    }
    pairs[key] = decoded;
  }
  return pairs;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function readSampler(name: Found, argument: Found): Sampling {
  const found = name.value ?? 'parentbased_always_on';
  const sampler = Object.hasOwn(SAMPLERS, found) ? SAMPLERS[found] : undefined;
  if (sampler === undefined) {
    throw invalid(name.variable, `must be one of ${Object.keys(SAMPLERS).join(', ')}`);
  }
  const { isParentBased, ratio } = sampler;
  if (ratio !== null) return { isParentBased, ratio };
  const given = argument.value === null ? 1 : Number(argument.value);
  if (!(given >= 0 && given <= 1)) throw invalid(argument.variable, 'must be from 0 to 1');
  return { isParentBased, ratio: given };
}

function readNumber(
  { variable, value }: Found,
  { least, byDefault }: { least: number; byDefault: number },
): number {
  if (value === null) return byDefault;
  const number = Number(value);
  // Beyond this a timer fires at once.
  if (Number.isInteger(number) && number >= least && number < 2 ** 31) return number;
  throw invalid(variable, `must be a whole number from ${least}, not ${JSON.stringify(value)}`);
}

function readOneOf<T extends string>(
  { variable, value }: Found,
  allowed: readonly T[],
  byDefault: T,
): T {
  if (value === null) return byDefault;
  const found = allowed.find((one) => one === value);
  if (found !== undefined) return found;
  throw invalid(variable, `must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
}

function invalid(variable: string, problem: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', `${variable} ${problem}.`);
}
