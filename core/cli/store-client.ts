import { setTimeout as sleep } from 'node:timers/promises';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { StartError } from './failure.ts';

/** How often a request is sent that gets no answer, or that of a busy server. */
const TRIES = 7;
const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;
const ANSWER_MS = 120_000;
/** What hosted platforms ask for; this service takes it, too. */
const HEADERS = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'agent-memory-2026-07-22' };
/** A page has at most 20 contents of 100 KB, or of 256 KB here. */
const PAGE_LIMITS = { chars: 64 * 1024 ** 2, values: 200_000, containers: 20_000 };

/** A memory store, as far as an import needs it. */
export interface HostedStore {
  id: string;
  name: string;
  description: string;
  metadata: Readonly<Record<string, string>>;
  isArchived: boolean;
}

/** A version of a memory, as far as an import needs it. */
export interface HostedVersion {
  id: string;
  memoryId: string;
  at: string;
  operation: string;
  path: string | null;
  content: string | null;
  hash: string | null;
}

/** Reads hosted memory stores. */
export interface StoreClient {
  /** Archived ones, too. */
  stores(): AsyncIterable<HostedStore>;
  /** The versions of a store with their contents, the newest first. */
  versions(storeId: string): AsyncIterable<HostedVersion>;
}

/** The memory stores at an address. */
export function createStoreClient(address: string, key: string): StoreClient {
  async function ask(path: string): Promise<Record<string, unknown>> {
    for (let tries = 1; ; tries += 1) {
      const answer = await fetch(`${address}/v1/${path}`, {
        headers: { ...HEADERS, 'x-api-key': key },
        signal: AbortSignal.timeout(ANSWER_MS),
      }).catch((error: unknown) => error as Error);
      const isLast = tries === TRIES;
      if (answer instanceof Response && answer.ok) {
        // The answer may be cut off, too.
        const text = await answer.text().catch(() => null);
        if (text !== null) return toFields(parse(text));
      } else if (answer instanceof Response && !isBusy(answer.status)) {
        throw new StartError(`${address} answered ${answer.status}: ${await readMessage(answer)}`);
      }
      if (isLast) {
        const why =
          answer instanceof Response
            ? `answered ${answer.status}`
            : `did not answer: ${String(answer.cause ?? answer.message)}`;
        throw new StartError(`${address} ${why}. Import again: it goes on where it was.`);
      }
      const asked = answer instanceof Response ? Number(answer.headers.get('retry-after')) : 0;
      const wait = asked > 0 ? asked * 1_000 : FIRST_WAIT_MS * 2 ** (tries - 1);
      await sleep(Math.min(wait, MOST_WAIT_MS));
    }
  }

  async function* listAll(path: string, query: Record<string, string>): AsyncGenerator<Fields> {
    for (let page: string | null = null; ;) {
      const asked = new URLSearchParams({ ...query, ...(page !== null && { page }) });
      const answer = await ask(`${path}?${asked.toString()}`);
      if (!Array.isArray(answer['data'])) {
        throw new StartError(
          `${address} answers in another format: is it the address of memory stores?`,
        );
      }
      yield* (answer['data'] as unknown[]).map(toFields);
      page = textOf(answer, 'next_page');
      if (page === null) return;
    }
  }

  return {
    async *stores() {
      const query = { limit: '100', include_archived: 'true' };
      for await (const store of listAll('memory_stores', query)) {
        const metadata = Object.entries(toFields(store['metadata']));
        yield {
          id: textOf(store, 'id') ?? '',
          name: textOf(store, 'name') ?? '',
          description: textOf(store, 'description') ?? '',
          metadata: Object.fromEntries(metadata.map(([name, value]) => [name, String(value)])),
          isArchived: textOf(store, 'archived_at') !== null,
        };
      }
    },
    async *versions(storeId) {
      const path = `memory_stores/${encodeURIComponent(storeId)}/memory_versions`;
      for await (const version of listAll(path, { limit: '20', view: 'full' })) {
        yield {
          id: textOf(version, 'id') ?? '',
          memoryId: textOf(version, 'memory_id') ?? '',
          at: textOf(version, 'created_at') ?? '',
          operation: textOf(version, 'operation') ?? '',
          path: textOf(version, 'path'),
          content: textOf(version, 'content'),
          hash: textOf(version, 'content_sha256'),
        };
      }
    },
  };
}

type Fields = Record<string, unknown>;

function toFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function textOf(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === 'string' ? value : null;
}

function isBusy(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function parse(text: string): unknown {
  try {
    return parseForeignJson(text, PAGE_LIMITS);
  } catch (error) {
    throw new StartError(`The answer can't be read: ${(error as Error).message}`, { cause: error });
  }
}

async function readMessage(answer: Response): Promise<string> {
  const text = await answer.text().catch(() => '');
  const fields = toFields(text.startsWith('{') ? parse(text) : null);
  return textOf(toFields(fields['error']), 'message') ?? 'it says no more.';
}
