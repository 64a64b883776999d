import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createMountedMemory } from '../../../core/cli/mount-memory.ts';
import { callAdminApi } from '../../../core/cli/running-server.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import { claimFolder } from '../../../core/folders/mount-claim.ts';
import { newState, readState, writeState } from '../../../core/folders/mount-state.ts';
import { MountedFolder, type MountEvent } from '../../../core/folders/mounted-folder.ts';
import type { CoreConfig } from '../../../core/service.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { ADMIN_SECRET, serveCore } from '../http/serve.ts';

/** The memory that the tests mount. */
const SCOPE = 'u:alice' as ScopeKey;
/** By which the clock of a mount is ahead of the disk: files are left alone for long enough. */
const SETTLED_MS = 1_200;

/** A service, and folders in step with the memory of alice in it. */
export async function serveMounts(config: Partial<CoreConfig> = {}) {
  const server = await serveCore({ tools: { delete: true, move: true }, ...config });
  const headers = { 'x-admin-secret': ADMIN_SECRET };
  const toUrl = (name: string) =>
    `/v1/admin/files/users/alice/${name.split('/').map(encodeURIComponent).join('/')}`;
  return {
    ...server,
    /** Writes a file as an operator. */
    async put(name: string, content: string) {
      const { json } = await server.request('PUT', toUrl(name), { headers, body: { content } });
      return json;
    },
    async remove(name: string) {
      await server.request('DELETE', toUrl(name), { headers });
    },
    admin: async (method: string, route: string, body?: object) =>
      (await server.request(method, `/v1/admin/${route}`, { headers, ...(body && { body }) })).json,
    /** All contents of the memory, by path. */
    async contents(): Promise<Record<string, string>> {
      const listed = await server.request('GET', '/v1/admin/files?userId=alice&limit=500', {
        headers,
      });
      const found: Record<string, string> = {};
      for (const { path: physical } of listed.json.items) {
        const name = String(physical).slice('users/alice/'.length);
        found[name] = (await server.request('GET', toUrl(name), { headers })).json.file.content;
      }
      return found;
    },
    mount: (options: MountOptions = {}) => openMount({ port: server.port, ...options }),
  };
}

interface MountOptions {
  /** One of the test's own. Default: a new one. */
  folder?: string;
  /** Where the state is; a mount with the same place goes on with it. */
  stateFile?: string;
  confirmDeletes?: boolean;
}

async function openMount({
  port,
  folder,
  stateFile,
  confirmDeletes = false,
}: MountOptions & { port: number }) {
  const place = folder ?? path.join(await temporaryDirectory(), 'folder');
  const file = stateFile ?? path.join(await temporaryDirectory(), 'state.json');
  const claim = await claimFolder(place);
  const state = (await readState(file)) ?? newState({ scope: SCOPE, service: 'test' });
  const api = callAdminApi(`http://127.0.0.1:${port}`, ADMIN_SECRET);
  const clock = { ahead: SETTLED_MS };
  const events: MountEvent[] = [];
  const { signal } = new AbortController();
  const mounted = new MountedFolder({
    claim,
    memory: createMountedMemory({ findApi: () => Promise.resolve(api), scope: SCOPE, signal }),
    state,
    stateFile: file,
    confirmDeletes,
    now: () => Date.now() + clock.ahead,
    onEvent: (event) => events.push(event),
    onProgress: () => undefined,
    save: () => writeState(file, state),
    signal,
  });
  await mounted.open();
  let isOpen = true;
  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await mounted.close();
    await claim.release();
  }
  onTestFinished(close);
  const at = (name: string) => path.join(place, name);
  return {
    folder: place,
    stateFile: file,
    clock,
    close,
    sync: () => mounted.sync(),
    /** What was told since the last call, in order. */
    told: () => events.splice(0),
    at,
    async write(name: string, content: string | Buffer) {
      await mkdir(path.dirname(at(name)), { recursive: true });
      await writeFile(at(name), content);
    },
    remove: (name: string) => rm(at(name)),
    /** All texts of the folder, by path, without hidden files. */
    async texts(): Promise<Record<string, string>> {
      const names = await readdir(place, { recursive: true, withFileTypes: true });
      const texts: Record<string, string> = {};
      for (const entry of names) {
        const name = path.relative(place, path.join(entry.parentPath, entry.name));
        if (!entry.isFile() || name.startsWith('.')) continue;
        texts[name] = await readFile(at(name), 'utf8');
      }
      return texts;
    },
  };
}
