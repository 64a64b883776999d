import { homedir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeDatabase, type LoadedConfig, loadConfig } from '../config/index.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { labelOf, parseSpaceId, parseUserId, toOwner, toScope } from '../files/paths.ts';
import { claimFolder, type MountClaim } from '../folders/mount-claim.ts';
import { type MountState, newState, readState, writeState } from '../folders/mount-state.ts';
import { MountedFolder, type MountEvent } from '../folders/mounted-folder.ts';
import { MountFault, ServiceAway } from '../folders/mounted-memory.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { createMountedMemory } from './mount-memory.ts';
import { findServer } from './owner.ts';
import {
  AdminApiError,
  callUrl,
  createProgress,
  type RunningServer,
  talkToServer,
} from './running-server.ts';
import { writeOutput } from './streams.ts';

/** How often both sides are looked at. */
const ROUND_MS = 2_000;
/** Of `--once`: a file that is written to all the time is left out in the end. */
const MOST_ROUNDS = 10;
/** How long to wait for a service that does not answer; it doubles up to the second. */
const AWAY_MS = [500, 10_000] as const;

/**
 * `memory-service mount <folder>`: keeps a folder and the memory of a user or a space in step, both ways,
 * until it is told to stop.
 */
export const mount: Command = {
  summary: 'Keep a folder and the memory of a user or space in step, both ways, until Ctrl-C.',
  argument: 'folder',
  flags: {
    user: { value: 'userId', summary: 'The memory of this user.' },
    space: { value: 'spaceId', summary: 'The memory of this space.' },
    url: {
      value: 'address',
      summary: 'The service at this address, with SERVICE_ADMIN_SECRET; else the own database.',
    },
    'confirm-deletes': {
      value: null,
      summary: 'Delete in the service what is missing in the folder, also more than 20 files.',
    },
    state: {
      value: 'folder',
      summary: 'Where to keep what is known of both sides; default: in your home.',
    },
    once: { value: null, summary: 'Bring both sides together once, without deletions, and end.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const scope = scopeOf(context.flags);
  const folder = resolve(context.cwd, context.argument ?? '');
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  process.umask(0o077);
  try {
    await withService(loaded, context.flags.get('url'), async (service) => {
      await checkSpace(service, scope);
      const claim = await claimFolder(folder);
      try {
        await keepInStep(context, { loaded, scope, claim, service, signal: stop.signal });
      } finally {
        await claim.release();
      }
    });
  } catch (error) {
    throw error instanceof MountFault ? new StartError(error.message, { cause: error }) : error;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

/** How a mount reaches its service. */
interface Service {
  /** Names the memory's service, so that a folder is never brought together with another one. */
  name: string;
  findApi(): Promise<RunningServer>;
}

function scopeOf(flags: CommandContext['flags']): ScopeKey {
  const [user, space] = [flags.get('user'), flags.get('space')];
  if ((user === undefined) === (space === undefined)) {
    throw new StartError('Say whose memory it is: --user=<userId> or --space=<spaceId>.');
  }
  return space === undefined
    ? toScope({ userId: parseUserId(user) })
    : toScope({ spaceId: parseSpaceId(space, 'space') });
}

/** Uses the service at an address, or the one that has the database open, or one in this process. */
async function withService(
  loaded: LoadedConfig,
  url: string | undefined,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  if (url !== undefined) {
    const api = callUrl(url, loaded);
    return await work({ name: url.replace(/\/$/, ''), findApi: () => Promise.resolve(api) });
  }
  const database = describeDatabase(loaded);
  const name = `the database ${database.filename ?? toPlace(loaded.values.databaseUrl)}`;
  if ((await findServer(database)) === null) {
    if (database.filename !== null) {
      process.stderr.write(
        '  No service runs here. This command has the database open: a service can start when it ends.\n',
      );
    }
    return await withAdminApi(loaded, (api) => work({ name, findApi: () => Promise.resolve(api) }));
  }
  let known: RunningServer | null = null;
  await work({
    name,
    async findApi() {
      // A service that was restarted may have another address, and is no reason to open its database.
      const address = await findServer(database).catch(() => null);
      if (address !== null) known = await talkToServer(address, loaded, database);
      if (known !== null) return known;
      throw new AdminApiError('The service is not running.', { status: null });
    },
  });
}

/** The address of a database without user and password. */
function toPlace(address: string): string {
  if (!URL.canParse(address)) return address;
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname}`;
}

/** Throws a `StartError` for a space that does not exist: its first write would make it. */
async function checkSpace({ findApi }: Service, scope: ScopeKey): Promise<void> {
  const { spaceId } = toOwner(scope);
  if (spaceId === null) return;
  const api = await findApi();
  await api.ask('GET', `spaces/${encodeURIComponent(spaceId)}`);
}

/** What a mount works on. */
interface Mounting {
  loaded: LoadedConfig;
  scope: ScopeKey;
  claim: MountClaim;
  service: Service;
  signal: AbortSignal;
}

async function keepInStep(
  { flags, cwd, env }: CommandContext,
  { scope, claim, service, signal }: Mounting,
): Promise<void> {
  const stateFile = join(toStateFolder({ flags, cwd, env }, claim), `${claim.id}.json`);
  const state = await openState(stateFile, { scope, service: service.name });
  const counts = new Map<string, number>();
  const progress = createProgress('files');
  const isOnce = flags.has('once');
  let isFirst = true;
  const mounted = new MountedFolder({
    claim,
    memory: createMountedMemory({ findApi: () => service.findApi(), scope, signal }),
    state,
    stateFile,
    confirmDeletes: flags.has('confirm-deletes'),
    now: Date.now,
    onEvent(event) {
      counts.set(event.kind, (counts.get(event.kind) ?? 0) + 1);
      report(event, { isCounted: isFirst });
    },
    onProgress: (done, total) => {
      if (total > 1) progress(done, total);
    },
    save: () => writeState(stateFile, state),
    signal,
  });
  await mounted.open();
  try {
    let away = 0;
    let rounds = 0;
    while (!signal.aborted) {
      try {
        const isDone = await mounted.sync();
        if (away > 0) process.stderr.write('  The service answers again.\n');
        away = 0;
        rounds += 1;
        const isLast = isOnce && (isDone || rounds === MOST_ROUNDS);
        if (isFirst && (isLast || !isOnce)) {
          reportFirst(claim.folder, { scope, state, counts });
          isFirst = false;
        }
        if (isLast) return;
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof ServiceAway) || isOnce) throw error;
        if (away === 0) process.stderr.write(`  ${toPlain(error.message)} Waiting for it.\n`);
        away += 1;
      }
      const [first, most] = AWAY_MS;
      const wait = away === 0 ? ROUND_MS : Math.min(first * 2 ** (away - 1), most);
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    }
    writeOutput('Unmounted. The folder stays as it is.\n');
  } finally {
    await mounted.close();
  }
}

/** Where the states of mounts are: outside of the folder. */
function toStateFolder(
  { flags, cwd, env }: Pick<CommandContext, 'flags' | 'cwd' | 'env'>,
  { folder }: MountClaim,
): string {
  const given = flags.get('state');
  const home = env['XDG_STATE_HOME'] ?? join(env['HOME'] ?? homedir(), '.local', 'state');
  const place = given === undefined ? join(home, 'memory-service', 'mounts') : resolve(cwd, given);
  const inside = relative(folder, place);
  if (inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`))) {
    throw new StartError(
      `What the mount knows is kept outside of the folder, and ${place} is in it: name another place with --state.`,
    );
  }
  return place;
}

async function openState(
  file: string,
  owner: Pick<MountState, 'scope' | 'service'>,
): Promise<MountState> {
  const state = (await readState(file)) ?? newState(owner);
  if (state.scope === owner.scope && state.service === owner.service) return state;
  throw new StartError(
    `The folder is in step with ${labelOf(state.scope)} of ${state.service}: mount another folder. To begin anew with this one, remove ${file} and all that is in the folder.`,
  );
}

/** What the first round did; later rounds name each file. */
function reportFirst(
  folder: string,
  { scope, state, counts }: { scope: ScopeKey; state: MountState; counts: Map<string, number> },
): void {
  const of = (kind: MountEvent['kind']): number => counts.get(kind) ?? 0;
  writeOutput(
    `Mounted ${labelOf(scope)} at ${folder}: ${state.files.size} files in step;` +
      ` ${of('written')} written, ${of('sent')} sent, ${of('removed')} removed, ${of('conflict')} in conflict.\n`,
  );
}

function report(event: MountEvent, { isCounted }: { isCounted: boolean }): void {
  switch (event.kind) {
    case 'notice':
      process.stderr.write(`  ${toPlain(event.message)}\n`);
      return;
    case 'left_out':
      process.stderr.write(`  left out ${toPlain(event.path)}: ${toPlain(event.why)}\n`);
      return;
    case 'conflict':
      writeOutput(
        `conflict  ${toPlain(event.path)}: the folder's text is in ${toPlain(event.copy)}\n`,
      );
      return;
    default:
      if (!isCounted) writeOutput(`${event.kind.padEnd(10)}${toPlain(event.path)}\n`);
  }
}

/** Without what a terminal obeys. */
const toPlain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
