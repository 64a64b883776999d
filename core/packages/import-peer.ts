import { MemoryError } from '../errors.ts';
import { parseForeignJson } from '../encoding/foreign-json.ts';

/**
 * The optional packages of others: the oldest version that works here, and what to install. package.json
 * allows every version, so that no installation fails over a package that is not used; what loads one
 * checks it here. A version that is newer than the ones that were tried is taken as long as it has the
 * parts that are needed.
 */
const PEERS = {
  '@anthropic-ai/sdk': { oldest: '1.12.0', install: '1' },
  '@huggingface/transformers': { oldest: '4.0.0', install: '4' },
  '@langchain/core': { oldest: '1.2.0', install: '1' },
  '@modelcontextprotocol/sdk': { oldest: '1.32.0', install: '1' },
  '@modelcontextprotocol/server': { oldest: '2.4.0', install: '2' },
  '@openai/agents': { oldest: '0.12.0', install: '0.12' },
  '@opentelemetry/api': { oldest: '1.9.0', install: '1' },
  '@opentelemetry/exporter-trace-otlp-http': { oldest: '0.223.1', install: '0.223' },
  '@opentelemetry/exporter-trace-otlp-proto': { oldest: '0.223.1', install: '0.223' },
  '@opentelemetry/resources': { oldest: '2.12.0', install: '2' },
  '@opentelemetry/sdk-trace-node': { oldest: '2.12.0', install: '2' },
  ai: { oldest: '6.0.0', install: '7' },
} as const;

export type PeerName = keyof typeof PEERS;

interface PeerOptions<Module> {
  packages: readonly PeerName[];
  load: () => Promise<Module>;
  /** The parts that are needed: a newer version may lack one. */
  parts: readonly (keyof Module & string)[];
  /** The HTTP status of a refusal; default 400. */
  status?: number;
}

/**
 * Imports packages of others when they are first needed. Rejects with `INVALID_REQUEST` and what to
 * install when one is not there, is too old, or lacks a part that is needed.
 *
 * @param who what needs them, as a user knows it
 */
export async function importPeer<Module extends object>(
  who: string,
  { packages, load, parts, status }: PeerOptions<Module>,
): Promise<Module> {
  const refuse = (problem: string, install: readonly string[], cause?: unknown) => {
    const command = `npm install ${install.join(' ')}`;
    const details = packages.length === 1 ? { package: packages[0] } : { packages };
    return new MemoryError('INVALID_REQUEST', `${who} ${problem}: ${command}`, {
      details,
      action: `Run ${command}, and start the app again.`,
      ...(cause === undefined ? {} : { cause }),
      ...(status === undefined ? {} : { status }),
    });
  };
  const tried = packages.map((name) => `${name}@${PEERS[name].install}`);
  for (const name of packages) {
    const version = findPeerVersion(name);
    if (version === null || !isOlder(version, PEERS[name].oldest)) continue;
    const needed = `${name} ${PEERS[name].oldest} or newer`;
    throw refuse(`needs ${needed}, and ${version} is installed`, tried);
  }
  const lacksPart = (cause?: unknown) => {
    const found = packages.map(
      (name) => `${name} ${findPeerVersion(name) ?? 'of an unknown version'}`,
    );
    const problem = `can't work with ${found.join(' and ')}, which lacks a part that it needs`;
    return refuse(problem, tried, cause);
  };
  let module: Module;
  try {
    module = await load();
  } catch (cause) {
    const { code, message = '' } = Object(cause) as { code?: unknown; message?: string };
    if (code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw lacksPart(cause);
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    const isThere = packages.every((name) => findPeerVersion(name) !== null);
    const isMissing =
      message.startsWith('Cannot find package') ||
      packages.some((name) => message.startsWith(`Cannot find module '${name}'`));
    if (isThere && !isMissing) throw lacksPart(cause);
    const needs = packages.length === 1 ? 'needs a package that is' : 'needs packages that are';
    throw refuse(`${needs} not installed`, packages, cause);
  }
  if (parts.some((part) => module[part] === undefined)) throw lacksPart();
  return module;
}

/**
 * The installed version of a package, found as Node finds it from here; `null` where it is not there,
 * or where nothing can be looked up, as in a bundle.
 */
export function findPeerVersion(name: PeerName): string | null {
  try {
    const { readFileSync } = process.getBuiltinModule('node:fs');
    let folder = new URL('.', import.meta.url);
    for (;;) {
      const version = readVersion(() =>
        readFileSync(new URL(`node_modules/${name}/package.json`, folder), 'utf8'),
      );
      if (version !== null) return version;
      const above = new URL('..', folder);
      if (above.href === folder.href) return null;
      folder = above;
    }
  } catch {
    return null;
  }
}

function readVersion(read: () => string): string | null {
  try {
    const { version } = Object(parseForeignJson(read())) as { version?: unknown };
    return typeof version === 'string' ? version : null;
  } catch {
    return null;
  }
}

/** Whether a version comes before another one; a prerelease counts as its release. */
function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) =>
    text.split(/[-+]/, 1)[0]?.split('.').map(Number),
  );
  for (const [at, number] of (other ?? []).entries()) {
    const difference = (one?.[at] ?? 0) - number;
    if (difference !== 0) return difference < 0;
  }
  return false;
}
