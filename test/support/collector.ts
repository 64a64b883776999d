import http, { type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

/** A span as the collector understood it, whatever it was encoded in. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty for a root. */
  parentSpanId: string;
  name: string;
  /** 1 is internal, 3 a client's. */
  kind: number;
  /** Nanoseconds since 1970. */
  start: bigint;
  end: bigint;
  attributes: Record<string, unknown>;
  /** 0 is unset, 2 an error. */
  statusCode: number;
  statusMessage: string;
  flags: number;
  resource: Record<string, unknown>;
  scope: { name: string; version: string };
}

/** A request as it came. */
export interface CollectedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** Unpacked. */
  body: Buffer;
  spans: CollectedSpan[];
}

export interface Collector {
  /** Base URL. */
  readonly url: string;
  readonly requests: CollectedRequest[];
  readonly spans: CollectedSpan[];
  /** What it answers from now on: a status, or `hang` for no answer at all. */
  behave(answer: number | 'hang'): void;
  /** Resolves with the spans once there are `count` of them. */
  waitFor(count: number): Promise<CollectedSpan[]>;
  /** Resolves once a request has come that it has not answered. */
  waitForRequest(): Promise<void>;
  close(): Promise<void>;
}

/**
 * An OTLP/HTTP collector on loopback. It decodes protobuf by the field numbers of
 * opentelemetry-proto and JSON by its mapping, with nothing of the SDK that encoded them. Closed
 * when the test ends.
 */
export async function startCollector(): Promise<Collector> {
  const requests: CollectedRequest[] = [];
  const spans: CollectedSpan[] = [];
  let answer: number | 'hang' = 200;
  const changes = new EventTarget();

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const packed = Buffer.concat(chunks);
      const isPacked = request.headers['content-encoding'] === 'gzip';
      const body = isPacked ? gunzipSync(packed) : packed;
      const isJson = request.headers['content-type'] === 'application/json';
      const found = isJson ? decodeJson(body) : decodeProtobuf(body);
      requests.push({ path: request.url ?? '', headers: request.headers, body, spans: found });
      if (answer === 200) spans.push(...found);
      changes.dispatchEvent(new Event('change'));
      if (answer === 'hang') return;
      response.writeHead(answer, { 'content-type': request.headers['content-type'] ?? '' });
      response.end(isJson ? '{}' : undefined);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  async function until(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      await new Promise((resolve) => changes.addEventListener('change', resolve, { once: true }));
    }
  }

  let closing: Promise<void> | null = null;
  function close(): Promise<void> {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  }
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans,
    behave(next) {
      answer = next;
    },
    async waitFor(count) {
      await until(() => spans.length >= count);
      return spans;
    },
    waitForRequest: () => until(() => requests.length > 0),
    close,
  };
}

/** The least that the decoder says of a message: each field's values, in their order. */
type Fields = Map<number, (bigint | Buffer)[]>;

/** Reads one message of protobuf's wire format. Throws at what is none. */
function readFields(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  function varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('a varint without end');
  }
  function take(length: number): Buffer {
    if (at + length > bytes.length) throw new Error('a field longer than its message');
    at += length;
    return bytes.subarray(at - length, at);
  }
  while (at < bytes.length) {
    const tag = Number(varint());
    const type = tag & 7;
    let value: bigint | Buffer;
    if (type === 0) value = varint();
    else if (type === 1) value = take(8).readBigUInt64LE();
    else if (type === 2) value = take(Number(varint()));
    else if (type === 5) value = BigInt(take(4).readUInt32LE());
    else throw new Error(`wire type ${type}`);
    const values = fields.get(tag >> 3);
    if (values === undefined) fields.set(tag >> 3, [value]);
    else values.push(value);
  }
  return fields;
}

const messages = (fields: Fields, field: number): Fields[] =>
  (fields.get(field) ?? []).map((value) => readFields(value as Buffer));
const bytesOf = (fields: Fields, field: number): Buffer =>
  (fields.get(field)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0);
const textOf = (fields: Fields, field: number): string => bytesOf(fields, field).toString('utf8');
const numberOf = (fields: Fields, field: number): bigint =>
  (fields.get(field)?.at(-1) as bigint | undefined) ?? 0n;

// opentelemetry/proto/collector/trace/v1/trace_service.proto and trace/v1/trace.proto.
function decodeProtobuf(body: Buffer): CollectedSpan[] {
  return messages(readFields(body), 1).flatMap((resourceSpans) => {
    const resource = messages(resourceSpans, 1).map((found) => attributesOf(found, 1))[0] ?? {};
    return messages(resourceSpans, 2).flatMap((scopeSpans) => {
      const [scope = new Map() as Fields] = messages(scopeSpans, 1);
      return messages(scopeSpans, 2).map((span) => {
        const [status = new Map() as Fields] = messages(span, 15);
        return {
          traceId: bytesOf(span, 1).toString('hex'),
          spanId: bytesOf(span, 2).toString('hex'),
          parentSpanId: bytesOf(span, 4).toString('hex'),
          name: textOf(span, 5),
          kind: Number(numberOf(span, 6)),
          start: numberOf(span, 7),
          end: numberOf(span, 8),
          attributes: attributesOf(span, 9),
          statusCode: Number(numberOf(status, 3)),
          statusMessage: textOf(status, 2),
          flags: Number(numberOf(span, 16)),
          resource,
          scope: { name: textOf(scope, 1), version: textOf(scope, 2) },
        };
      });
    });
  });
}

function attributesOf(fields: Fields, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, field).map((pair) => {
      const [value = new Map() as Fields] = messages(pair, 2);
      return [textOf(pair, 1), anyValueOf(value)];
    }),
  );
}

// opentelemetry/proto/common/v1/common.proto, AnyValue.
function anyValueOf(value: Fields): unknown {
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return numberOf(value, 2) === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, numberOf(value, 3)));
  if (value.has(4)) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(numberOf(value, 4));
    return bytes.readDoubleLE();
  }
  throw new Error('a value that this collector does not know');
}

interface JsonValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number | string;
  doubleValue?: number;
}
type JsonAttributes = { key: string; value: JsonValue }[];
interface JsonRequest {
  resourceSpans: {
    resource: { attributes: JsonAttributes };
    scopeSpans: {
      scope: { name: string; version?: string };
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: JsonAttributes;
        status: { code: number; message?: string };
        flags?: number;
      }[];
    }[];
  }[];
}

function decodeJson(body: Buffer): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString('utf8')) as JsonRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        attributes: fromJson(span.attributes),
        statusCode: span.status.code,
        statusMessage: span.status.message ?? '',
        flags: span.flags ?? 0,
        resource: fromJson(resource.attributes),
        scope: { name: scope.name, version: scope.version ?? '' },
      })),
    ),
  );
}

function fromJson(attributes: JsonAttributes): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, boolValue, intValue, doubleValue } = value;
      return [key, stringValue ?? boolValue ?? doubleValue ?? Number(intValue)];
    }),
  );
}
