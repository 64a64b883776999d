import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { MemoryError } from '../../core/errors.ts';
import { type Call, listAllFiles, parseUri } from './resources.ts';
import type { McpSdk } from './sdk.ts';
import { asProtocolError } from './server.ts';

/** Files that a client may watch. */
const MAX_SUBSCRIPTIONS = 1_000;

/**
 * Lets a client subscribe to memory files over a transport that stays open. What others write is seen
 * every `pollMs`, while there are subscriptions; the writes of the client itself at once. Each look is a
 * `memory_list` of the client's user, with its access row.
 */
export class Subscriptions {
  readonly #runner: ToolRunner;
  readonly #call: Call;
  readonly #pollMs: number;
  /** The last known version by address; `null` for a file that is not there. */
  readonly #watched = new Map<string, number | null>();
  #server: Server | null = null;
  #timer: NodeJS.Timeout | null = null;
  #reading: ReadonlySet<string> = new Set();
  #look: Promise<void> = Promise.resolve();

  constructor(runner: ToolRunner, { call, pollMs }: { call: Call; pollMs: number }) {
    this.#runner = runner;
    this.#call = call;
    this.#pollMs = pollMs;
  }

  /** The runner for the server: a call of it that may have written is followed by a look. */
  watch(): ToolRunner {
    return {
      listTools: () => this.#runner.listTools(),
      execute: async (name, request) => {
        const response = await this.#runner.execute(name, request);
        if (this.#watched.size > 0 && !this.#reading.has(name)) void this.#lookAgain();
        return response;
      },
    };
  }

  /** Adds the methods to a server that is not connected yet. */
  serve(sdk: McpSdk, server: Server): void {
    this.#server = server;
    server.registerCapabilities({ resources: { subscribe: true } });
    server.setRequestHandler(sdk.SubscribeRequestSchema, ({ params: { uri } }) =>
      asProtocolError(sdk, async () => {
        await this.#add(uri);
        return {};
      }),
    );
    server.setRequestHandler(sdk.UnsubscribeRequestSchema, ({ params: { uri } }) => {
      this.#watched.delete(uri);
      if (this.#watched.size === 0) this.close();
      return {};
    });
  }

  /** Stops looking. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #add(uri: string): Promise<void> {
    parseUri(uri);
    if (this.#watched.size >= MAX_SUBSCRIPTIONS && !this.#watched.has(uri)) {
      const message = `A client can subscribe to ${MAX_SUBSCRIPTIONS} files at most.`;
      throw new MemoryError('INVALID_REQUEST', message);
    }
    const tools = await this.#runner.listTools();
    this.#reading = new Set(tools.filter(({ readOnly }) => readOnly).map(({ name }) => name));
    const versions = await this.#readVersions();
    this.#watched.set(uri, versions.get(parseUri(uri)) ?? null);
    this.#timer ??= setInterval(() => void this.#lookAgain(), this.#pollMs).unref();
  }

  #lookAgain(): Promise<void> {
    // One after the other, so that each change is told once.
    this.#look = this.#look.then(() => this.#compare()).catch(() => undefined);
    return this.#look;
  }

  async #readVersions(): Promise<Map<string, number>> {
    const files = await listAllFiles(this.#runner, this.#call);
    return new Map(files.map(({ path, version }) => [path, version]));
  }

  async #compare(): Promise<void> {
    if (this.#watched.size === 0) return;
    const versions = await this.#readVersions();
    for (const [uri, known] of this.#watched) {
      const version = versions.get(parseUri(uri)) ?? null;
      if (version === known) continue;
      this.#watched.set(uri, version);
      await this.#server?.sendResourceUpdated({ uri });
    }
  }
}
