import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const execute = promisify(execFile);

/** What of a manifest the tests of the package ask for. */
export interface Manifest {
  name: string;
  bin: Record<string, string>;
  exports: Record<
    string,
    string | { types: string; default: string; require: Record<string, string> }
  >;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
}

let packed: Promise<string> | null = null;

/**
 * Packs what is built as `npm publish` would, once for all tests of a worker. Gives the archive’s path.
 */
export function packPackage(): Promise<string> {
  return (packed ??= pack());
}

async function pack(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-pack-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const args = ['pack', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await execute('npm', args, { cwd: root });
  return join(directory, stdout.trim().split('\n').at(-1) ?? '');
}

/** Unpacks it where an install would, with nothing beside it. Gives the folder. */
export async function unpackPackage(archive: string, project: string): Promise<string> {
  const folder = join(project, 'node_modules/memory-service');
  await mkdir(folder, { recursive: true });
  await execute('tar', ['-xzf', archive, '-C', folder, '--strip-components=1']);
  return folder;
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/**
 * Puts beside an unpacked package what its own manifest asks for, from the packages of this
 * repository, and nothing else: what it imports without asking for it is not found.
 */
export async function linkDependencies(folder: string): Promise<void> {
  const { dependencies, optionalDependencies } = await readManifest(folder);
  await linkPackages(folder, Object.keys({ ...dependencies, ...optionalDependencies }));
}

/** Puts the packages of this repository beside an unpacked one, as someone has them who installed them. */
export async function linkAll(folder: string): Promise<void> {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  const all = { ...dependencies, ...optionalDependencies, ...devDependencies };
  await linkPackages(folder, Object.keys(all));
}

async function linkPackages(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const link = join(dirname(folder), name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, 'node_modules', name), link, 'dir');
  }
}

const found = new Map<string, Promise<string | null>>();

/** Where that major of Node is; `null` when npm cannot get it. npm is asked once. */
export function findNode(major: string): Promise<string | null> {
  const node = found.get(major) ?? askNpm(major);
  found.set(major, node);
  return node;
}

async function askNpm(major: string): Promise<string | null> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const { command, args } = nodeCommand(major);
  try {
    const { stdout } = await execute(command, [...args, '-p', 'process.execPath'], { cwd: root });
    return stdout.trim();
  } catch {
    return null;
  }
}

/** What gets it. */
export function nodeCommand(major: string): { command: string; args: string[] } {
  return { command: 'npm', args: ['exec', '--yes', `--package=node@${major}`, '--', 'node'] };
}
