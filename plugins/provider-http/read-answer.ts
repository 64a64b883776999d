import type { IncomingMessage } from 'node:http';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import {
  type ForeignJsonError,
  foreignJsonSteps,
  type JsonLimits,
} from '../../core/encoding/foreign-json.ts';
import { inSlices } from '../../core/time/pause.ts';
import { findErrorFault, toStatusFault } from './error-answer.ts';
import { ProviderFault } from './fault.ts';

/** What bounds an answer: its bytes when unpacked, and what its JSON may hold. */
export interface AnswerLimits extends Partial<JsonLimits> {
  bytes: number;
}

/**
 * Reads an answer to its end, as a `Response` whose JSON is parsed: in slices and within limits, which
 * an SDK would not do. `sent` is the body of the request. Throws a `ProviderFault` for each answer that
 * is a failure, also one that has the status 200 and an error in it, and for one that is empty.
 */
export async function readAnswer(
  answer: IncomingMessage,
  { bytes: most, ...limits }: AnswerLimits,
  sent: string | null,
): Promise<Response> {
  const status = answer.statusCode ?? 0;
  if (status >= 300 && status < 400) throw new ProviderFault('redirected', { status });
  const headers = toHeaders(answer);
  const isFailure = status >= 400;
  // A failure is told by its status, whatever comes with it.
  const text = await readText(answer, most).catch((error: unknown) => {
    if (isFailure && error instanceof ProviderFault && error.reason === 'too_large') return '';
    throw error;
  });
  if (isFailure) throw toStatusFault(status, { headers, text, sent });
  if (text.trim() === '') throw new ProviderFault('empty', { isTransient: true });
  // Some servers call JSON plain text.
  const isJson = /^\s*[[{]/.test(text) || headers.get('content-type')?.includes('json') === true;
  if (!isJson) return new Response(text, { status, headers });
  const value = await parseAnswer(text, { chars: most, ...limits });
  const fault = findErrorFault(value, { headers, sent });
  if (fault !== null) throw fault;
  headers.set('content-type', 'application/json');
  const response = new Response(null, { status, headers });
  return Object.defineProperty(response, 'json', { value: () => Promise.resolve(value) });
}

/**
 * The answer to a call of an SDK as {@link readAnswer} parsed it; text that is not JSON as it is. The SDKs
 * themselves would read it in their own ways: a newer one parses the text again.
 */
export async function awaitAnswer(call: { asResponse(): Promise<Response> }): Promise<unknown> {
  const response = await call.asResponse();
  const isJson = response.headers.get('content-type') === 'application/json';
  // eslint-disable-next-line no-restricted-syntax -- parsed within limits already, by readAnswer
  return isJson ? response.json() : response.text();
}

function toHeaders(answer: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value === undefined || name === 'content-encoding' || name === 'content-length') continue;
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}

async function readText(answer: IncomingMessage, limit: number): Promise<string> {
  if (Number(answer.headers['content-length'] ?? 0) > limit) throw new ProviderFault('too_large');
  // Piece by piece: to decode 32 MB at once holds up everybody.
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of unpack(answer)) {
    size += (chunk as Uint8Array).byteLength;
    if (size > limit) throw new ProviderFault('too_large');
    text += decoder.decode(chunk as Uint8Array, { stream: true });
  }
  return text + decoder.decode();
}

function unpack(answer: IncomingMessage): AsyncIterable<unknown> {
  const unpacker = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  }[answer.headers['content-encoding'] ?? ''];
  if (unpacker === undefined) return answer;
  const plain = unpacker();
  answer.on('error', (error) => plain.destroy(error));
  // An answer that breaks off ends in "aborted", not in an error of the stream.
  answer.on('close', () => {
    if (answer.complete) return;
    plain.destroy(new ProviderFault('unreachable', { problem: 'connection_closed' }));
  });
  return answer.pipe(plain);
}

async function parseAnswer(text: string, limits: Partial<JsonLimits>): Promise<unknown> {
  try {
    return await inSlices(foreignJsonSteps(text, limits));
  } catch (cause) {
    const { reason } = cause as ForeignJsonError;
    if (reason === 'syntax' || reason === 'cut_off') {
      throw new ProviderFault('malformed', { problem: 'not_json', cause });
    }
    throw new ProviderFault('too_large', { problem: 'too_complex', cause });
  }
}
