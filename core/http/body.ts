import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { invalidField, MemoryError } from '../errors.ts';
import {
  type ForeignJsonError,
  foreignJsonSteps,
  parseForeignJson,
} from '../encoding/foreign-json.ts';
import { inSlices } from '../time/pause.ts';

/** Limits of a JSON body, beside its size. */
export const BODY_LIMITS = {
  depth: 32,
  keys: 1_000,
  /** Lists and objects. */
  containers: 10_000,
  timeoutMs: 30_000,
} as const;

/** How one body is read. */
export interface BodyOptions {
  /** Bytes, both as sent and unpacked. */
  maxBytes: number;
  /** How long it may take to arrive. */
  timeoutMs: number;
  /** The body as the host app has parsed it; `undefined` when it has not. */
  parsed: unknown;
}

/**
 * Reads a JSON body and unzips it if it is gzipped; `undefined` if the request has none.
 *
 * Throws `UNSUPPORTED_MEDIA_TYPE` if it is not JSON, `PAYLOAD_TOO_LARGE`, `REQUEST_TIMEOUT`, and
 * `INVALID_REQUEST` for broken JSON, invalid UTF-8, more than 32 levels or 1,000 keys, in a body above
 * 64 KB for more than 10,000 lists and objects, and for keys that could change a prototype.
 */
export async function readJsonBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<unknown> {
  const { headers } = request;
  const declared = headers['content-length'];
  if (headers['transfer-encoding'] === undefined && (declared === undefined || declared === '0')) {
    return undefined;
  }
  assertJson(headers['content-type']);
  if (Number(declared) > options.maxBytes) throw tooLarge(options.maxBytes);
  if (options.parsed !== undefined) return checkShape(options.parsed);
  const packed = await readBytes(request, options);
  return checkShape(
    await parseJson(await unpack(packed, headers['content-encoding'], options.maxBytes)),
  );
}

/**
 * The bytes of a body that a route reads itself. Throws `INVALID_REQUEST` if the client disconnects
 * before the end. A reader that stops early leaves the connection open for its answer.
 */
export async function* readStream(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw request.complete ? error : bodyEnded(error);
  }
  // Node ends the iteration without an error if the connection was closed before it began.
  if (!request.complete) throw bodyEnded();
}

function assertJson(contentType: string | undefined): void {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (type?.trim() !== 'application/json') throw new MemoryError('UNSUPPORTED_MEDIA_TYPE');
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8') return;
  throw new MemoryError('UNSUPPORTED_MEDIA_TYPE', 'Only bodies in UTF-8 are taken.', {
    situation: 'charset',
  });
}

function readBytes(request: IncomingMessage, options: BodyOptions): Buffer | Promise<Buffer> {
  // A small body has usually arrived together with the headers.
  if (request.complete) {
    const all: unknown = request.read();
    const bytes = all instanceof Buffer ? all : Buffer.alloc(0);
    if (bytes.length > options.maxBytes) throw tooLarge(options.maxBytes);
    return bytes;
  }
  if (request.destroyed) throw bodyEnded();
  return new Promise<Buffer[]>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => fail(new MemoryError('REQUEST_TIMEOUT')), options.timeoutMs);
    const stop = (): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', finish).off('close', cut).off('error', cut);
    };
    const fail = (error: MemoryError): void => {
      stop();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > options.maxBytes) fail(tooLarge(options.maxBytes));
      else chunks.push(chunk);
    };
    const finish = (): void => {
      stop();
      resolve(chunks);
    };
    const cut = (): void => fail(bodyEnded());
    request.on('data', take).on('end', finish).on('close', cut).on('error', cut);
  }).then((chunks) => Buffer.concat(chunks));
}

const gunzipAsync = promisify(gunzip);

async function unpack(
  bytes: Buffer,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return bytes;
  if (encoding !== 'gzip') {
    throw new MemoryError('UNSUPPORTED_MEDIA_TYPE', 'A body is plain or packed with gzip.', {
      situation: 'encoding',
    });
  }
  try {
    return await gunzipAsync(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw invalid('The body is not gzip.', cause);
  }
}

async function parseJson(bytes: Buffer): Promise<unknown> {
  // Decoding would silently replace invalid bytes.
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8.');
  const isSmall = bytes.length <= SMALL_BYTES;
  const text = bytes.toString('utf8');
  const limits = {
    chars: Infinity,
    keys: Infinity,
    values: Infinity,
    depth: BODY_LIMITS.depth,
    containers: isSmall ? Infinity : BODY_LIMITS.containers,
  };
  try {
    return isSmall
      ? parseForeignJson(text, limits)
      : await inSlices(foreignJsonSteps(text, limits));
  } catch (cause) {
    const { reason } = cause as ForeignJsonError;
    if (reason === 'depth') throw tooDeep();
    if (reason === 'containers') {
      throw invalid(`A body has at most ${BODY_LIMITS.containers} lists and objects.`);
    }
    throw invalid('The body is not JSON.', cause);
  }
}

/** Bodies up to this size are parsed quickly, whatever they contain. */
const SMALL_BYTES = 65_536;

function tooDeep(): MemoryError {
  return invalid(`A body has at most ${BODY_LIMITS.depth} levels.`);
}

function checkShape(body: unknown): unknown {
  if (typeof body === 'object' && body !== null) countKeys(body, 1, 0);
  return body;
}

function countKeys(value: object, depth: number, before: number): number {
  if (depth > BODY_LIMITS.depth) throw tooDeep();
  let count = before;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      if (typeof item === 'object' && item !== null) count = countKeys(item, depth + 1, count);
    }
    return count;
  }
  for (const [key, member] of Object.entries(value)) {
    if (++count > BODY_LIMITS.keys) {
      throw invalid(`A body has at most ${BODY_LIMITS.keys} keys.`);
    }
    if (key === '__proto__' || key === 'constructor' || key === 'prototype') {
      throw invalidField(`/${key}`, 'is not allowed as a key', key);
    }
    if (typeof member === 'object' && member !== null) {
      count = countKeys(member as object, depth + 1, count);
    }
  }
  return count;
}

function tooLarge(maxBytes: number): MemoryError {
  return new MemoryError('PAYLOAD_TOO_LARGE', `A body has at most ${maxBytes} bytes.`, {
    details: { limit: maxBytes },
    situation: 'body',
  });
}

/** Mostly, the client has disconnected and reads no answer. */
function bodyEnded(cause?: unknown): MemoryError {
  return invalid('The body ended before its end.', cause);
}

/** `cause` is not sent: its own cause quotes the body. */
function invalid(message: string, cause?: unknown): MemoryError {
  const issues = [{ path: '', message: message.slice(0, -1) }];
  return new MemoryError('INVALID_REQUEST', message, { details: { issues }, cause });
}
