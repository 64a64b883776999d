import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { loadConfig } from '../config/index.ts';
import type { OnExisting } from '../contracts/admin.ts';
import { hashText } from '../files/content.ts';
import { isUserId } from '../files/paths.ts';
import { makeTemporaryFolder } from '../maintenance/temporary-folders.ts';
import type { StoreHead, StoreVersion } from '../schemas/archive.ts';
import { withAdminApi } from './admin-api.ts';
import type { CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { importLines } from './memory-carrier.ts';
import { reportImport, toPlainLine } from './report-import.ts';
import { AdminApiError, createProgress, type RunningServer, toQuery } from './running-server.ts';
import {
  createStoreClient,
  type HostedStore,
  type HostedVersion,
  type StoreClient,
} from './store-client.ts';

const STORE = 'memstore_';

/** How stores are imported. */
interface StoreImport {
  onExisting: OnExisting;
  dryRun: boolean;
}

/**
 * `memory-service import --from=memory-stores`: copies hosted memory stores with their versions into spaces. A
 * store of another memory-service goes into the space of the same id.
 */
export async function importStores(
  { flags, env, ...context }: CommandContext,
  options: StoreImport,
): Promise<void> {
  const loaded = await loadConfig({ ...context, env });
  const address = addressOf(flags.get('url'));
  const key = flags.get('key') ?? env['ANTHROPIC_API_KEY'];
  if (key === undefined)
    throw new StartError('--from=memory-stores needs --key, or ANTHROPIC_API_KEY.');
  const client = createStoreClient(address, key);
  const stores: HostedStore[] = [];
  const only = flags.get('store');
  for await (const store of client.stores()) {
    if (only === undefined || store.id === only) stores.push(store);
  }
  if (stores.length === 0) {
    throw new StartError(
      only === undefined ? `${address} lists no stores.` : `There is no store ${only}.`,
    );
  }
  const space = flags.get('space');
  if (space !== undefined && stores.length > 1) {
    throw new StartError(
      `--space takes one store, and there are ${stores.length}: name it with --store.`,
    );
  }
  const copyAll = async (api: RunningServer): Promise<void> => {
    for (const store of stores) await copyStore(api, client, { store, space, ...options });
  };
  await withAdminApi(loaded, copyAll, { mayCreate: true });
}

async function copyStore(
  api: RunningServer,
  client: Pick<StoreClient, 'versions'>,
  { store, space, ...options }: StoreImport & { store: HostedStore; space: string | undefined },
): Promise<void> {
  const spaceId = space ?? toSpaceId(store.id);
  process.stderr.write(`  ${toPlainLine(store.name)} (${store.id}) into the space ${spaceId}\n`);
  const folder = await makeTemporaryFolder('import');
  try {
    const file = await spool(client.versions(store.id), { spaceId, directory: folder.path });
    if (!options.dryRun) await createSpace(api, store, spaceId);
    await sendFile(api, file, options);
    if (store.isArchived && !options.dryRun) {
      await api.ask('POST', `spaces/${encodeURIComponent(spaceId)}/archive`, { archived: true });
    }
  } finally {
    await folder.remove();
  }
}

function addressOf(url: string | undefined): string {
  if (url === undefined)
    throw new StartError('--from=memory-stores needs --url, the address of the stores.');
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new StartError(`--url is an address like https://api.example.com, not ${url}.`);
  }
  return url.endsWith('/') ? url.slice(0, -1) : url;
}

/** The space of a store of another memory-service, or the id of the store. */
function toSpaceId(storeId: string): string {
  const text = Buffer.from(storeId.slice(STORE.length), 'base64url');
  const spaceId = text.toString();
  const isOurs = storeId.startsWith(STORE) && `${STORE}${text.toString('base64url')}` === storeId;
  if (isOurs && isUserId(spaceId)) return spaceId;
  if (isUserId(storeId)) return storeId;
  throw new StartError(`${storeId} can't be the id of a space: give one with --space.`);
}

/** Makes the space where it is not there. */
async function createSpace(api: RunningServer, store: HostedStore, id: string): Promise<void> {
  const settings = {
    id,
    ...(store.name !== '' && { name: store.name }),
    ...(store.description !== '' && { description: store.description }),
    metadata: store.metadata,
    exclusivePaths: true,
  };
  try {
    await api.ask('POST', 'spaces', settings);
  } catch (error) {
    if (!(error instanceof AdminApiError) || error.code !== 'VERSION_CONFLICT') throw error;
  }
}

/** Reads all versions into a file, and turns their order round: the oldest one first. */
async function spool(
  versions: AsyncIterable<HostedVersion>,
  { spaceId, directory }: { spaceId: string; directory: string },
): Promise<string> {
  const progress = createProgress('versions read');
  const [newestFirst, oldestFirst] = [join(directory, 'newest-first'), join(directory, 'versions')];
  const ends: number[] = [0];
  async function* toLines(): AsyncGenerator<Buffer> {
    for await (const version of versions) {
      const line = Buffer.from(`${JSON.stringify(toLine(version))}\n`);
      ends.push((ends.at(-1) ?? 0) + line.length);
      progress(ends.length - 1, null);
      yield line;
    }
  }
  const options = { flags: 'wx', mode: 0o600 };
  await pipeline(Readable.from(toLines()), createWriteStream(newestFirst, options));
  const file = await open(newestFirst);
  try {
    const lines = readBackwards(file, { spaceId, ends });
    await pipeline(Readable.from(lines), createWriteStream(oldestFirst, options));
  } finally {
    await file.close();
  }
  return oldestFirst;
}

async function* readBackwards(
  file: FileHandle,
  { spaceId, ends }: { spaceId: string; ends: readonly number[] },
): AsyncGenerator<Buffer> {
  const head: StoreHead = { format: 'memory-stores', version: 1, spaceId };
  yield Buffer.from(`${JSON.stringify(head)}\n`);
  for (let at = ends.length - 1; at > 0; at -= 1) {
    const [from = 0, to = 0] = [ends[at - 1], ends[at]];
    const line = Buffer.alloc(to - from);
    await file.read(line, 0, line.length, from);
    yield line;
  }
}

function toLine({ id, memoryId, at, operation, path, content, hash }: HostedVersion): StoreVersion {
  if (content !== null && hash !== null && hashText(content) !== hash) {
    throw new StartError(
      `The content of version ${toPlainLine(id)} does not have its content_sha256.`,
    );
  }
  return { id, memoryId, at, operation: operation as StoreVersion['operation'], path, content };
}

async function sendFile(
  api: RunningServer,
  file: string,
  { onExisting, dryRun }: StoreImport,
): Promise<void> {
  const query = toQuery({ onExisting, dryRun: String(dryRun), from: 'memory-stores' });
  const answer = await api.stream('POST', `import?${query}`, createReadStream(file));
  await reportImport(importLines(answer), { dryRun });
}
