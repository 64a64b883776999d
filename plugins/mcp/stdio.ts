import { type Readable, Transform, type TransformCallback, type Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { NamedSpace, ToolRunner } from '../../core/contracts/tool.ts';
import {
  type ForeignJsonError,
  type JsonLimits,
  parseForeignJson,
} from '../../core/encoding/foreign-json.ts';
import { importSdk } from './sdk.ts';
import { createModernServer } from './modern.ts';
import { ModernLine } from './modern-line.ts';
import type { McpOptions } from './options.ts';
import { createMcpServer, hasResources } from './server.ts';
import { Subscriptions } from './subscriptions.ts';

/** Options of {@link serveStdio}. */
export interface StdioOptions extends McpOptions {
  userId: string;
  /** The spaces that the client may use; default none. */
  spaces?: readonly NamedSpace[];
  /** Default: the process's own standard input and output. */
  input?: Readable;
  output?: Writable;
  /** Aborting it has the same effect as the end of the input. */
  signal?: AbortSignal;
  /** How often files that the client has subscribed to are looked at; default 30,000. */
  pollMs?: number;
  /** Called for invalid messages and transport errors, not for failed tool calls. */
  onError?: (error: Error) => void;
}

/** Each look leaves an access row. */
const POLL_MS = 30_000;
/** How long open requests may take after the input ends. */
const END_LIMIT_MS = 10_000;

/**
 * Serves MCP over standard input and output, one message per line. Resolves when the input has ended
 * and all requests are answered, or when the output is closed.
 */
export async function serveStdio(runner: ToolRunner, options: StdioOptions): Promise<void> {
  const { userId, output = process.stdout, signal, onError } = options;
  const given = options.input ?? process.stdin;
  const input = new FrameCheck((error) => {
    onError?.(error);
    const refusal = { code: -32600, message: error.message };
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: refusal })}\n`);
  });
  const sdk = await importSdk();
  const call = {
    context: {
      userId,
      ...(options.spaces === undefined ? {} : { spaces: [...options.spaces] }),
      ...(options.actor === undefined ? {} : { actor: options.actor }),
    },
  };
  const subscriptions = new Subscriptions(runner, {
    call,
    pollMs: options.pollMs ?? POLL_MS,
  });
  const server = createMcpServer(sdk, subscriptions.watch(), call, options);
  if (hasResources(options)) subscriptions.serve(sdk, server);
  const transport = new sdk.StdioServerTransport(input, output);
  server.onerror = (error) => onError?.(error);
  const modern = new ModernLine(transport, {
    toServer: (modernSdk) => createModernServer(modernSdk, runner, call, options),
    onError: (error) => onError?.(error),
  });

  const openRequests = new Set<RequestId>();
  let isEnding = false;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const closeRequest = (requestId: RequestId): void => {
    openRequests.delete(requestId);
    if (isEnding && openRequests.size === 0) finish();
  };
  let limit: NodeJS.Timeout | undefined;
  const end = (): void => {
    isEnding = true;
    given.unpipe(input).pause();
    if (openRequests.size === 0) finish();
    limit ??= setTimeout(finish, END_LIMIT_MS);
  };

  await server.connect(transport);
  given.pipe(input);
  given.once('close', () => input.end()).once('error', () => input.end());
  // Tracks open requests, so that each is answered before the server closes.
  const { onmessage } = transport;
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('method' in message && 'id' in message) openRequests.add(message.id);
    if (!modern.take(message)) onmessage?.(message);
    if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
      if (requestId !== undefined) closeRequest(requestId);
    }
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!('method' in message) && message.id !== undefined) closeRequest(message.id);
  };
  server.onclose = finish;
  input.once('end', end).once('close', end);
  output.on('error', finish).once('close', finish);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted === true || given.readableEnded || given.destroyed) end();

  await finished;
  clearTimeout(limit);
  subscriptions.close();
  await modern.close();
  signal?.removeEventListener('abort', end);
  await server.close();
  // Who ends the process now would lose what the client has not taken.
  if (output.writableLength > 0) {
    await new Promise<void>((resolve) => void output.write('', () => resolve()));
  }
}

/** A call with the largest file, as JSON. */
const FRAME_CHARS = 8 * 1024 ** 2;
const FRAME_LIMITS: Partial<JsonLimits> = { chars: FRAME_CHARS, depth: 32, containers: 10_000 };

/** Keeps back frames that are too long, or whose JSON would hold up everybody. */
class FrameCheck extends Transform {
  readonly #refuse: (error: Error) => void;
  readonly #decoder = new StringDecoder('utf8');
  #frame = '';
  #isTooLong = false;
  #isFirst = true;

  constructor(refuse: (error: Error) => void) {
    super();
    this.#refuse = refuse;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const lines = this.#decoder.write(chunk).split('\n');
    const last = lines.pop() as string;
    for (const line of lines) {
      this.#add(line);
      this.#end();
    }
    this.#add(last);
    done();
  }

  /** A last message without a line end. */
  override _flush(done: TransformCallback): void {
    this.#add(this.#decoder.end());
    this.#end();
    done();
  }

  #add(part: string): void {
    this.#isTooLong ||= this.#frame.length + part.length > FRAME_CHARS;
    this.#frame = this.#isTooLong ? '' : this.#frame + part;
  }

  #end(): void {
    const [given, isTooLong] = [this.#frame, this.#isTooLong];
    const frame = this.#isFirst ? given.replace(/^\uFEFF/, '') : given;
    [this.#frame, this.#isTooLong, this.#isFirst] = ['', false, false];
    if (isTooLong) this.#refuse(new Error(`A message has at most ${FRAME_CHARS} characters.`));
    else if (frame.trim() !== '') {
      try {
        parseForeignJson(frame, FRAME_LIMITS);
      } catch (error) {
        // What is not JSON at all is the transport's to tell.
        const { reason } = error as ForeignJsonError;
        if (reason !== 'syntax' && reason !== 'cut_off') {
          this.#refuse(error as Error);
          return;
        }
      }
      this.push(`${frame}\n`);
    }
  }
}
