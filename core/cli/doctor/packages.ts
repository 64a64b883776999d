import type { LoadedConfig } from '../../config/index.ts';
import { MemoryError } from '../../errors.ts';
import { findPeerVersion, importPeer, type PeerName } from '../../packages/import-peer.ts';
import { type Finding, off, ok, problem } from './finding.ts';

const MCP_SDK = '@modelcontextprotocol/sdk';
const MCP_SERVER = '@modelcontextprotocol/server';

/** Whether the SDK of MCP is there and new enough. */
export async function checkMcpSdk(): Promise<Finding> {
  return await checkPeer(MCP_SDK, {
    reason: 'for clients that speak MCP',
    load: () => import('@modelcontextprotocol/sdk/server/index.js'),
    part: 'Server',
  });
}

/** Whether the package for the protocol of 2026-07-28 is there and new enough. */
export async function checkMcpServer(): Promise<Finding> {
  return await checkPeer(MCP_SERVER, {
    reason: 'for clients that speak MCP of 2026-07-28',
    load: () => import('@modelcontextprotocol/server'),
    part: 'Server',
  });
}

async function checkPeer<Module extends object>(
  name: PeerName,
  {
    reason,
    load,
    part,
  }: { reason: string; load: () => Promise<Module>; part: string & keyof Module },
): Promise<Finding> {
  const version = findPeerVersion(name);
  if (version === null) return off(`npm install ${name}, ${reason}.`);
  try {
    await importPeer('MCP', { packages: [name], load, parts: [part] });
  } catch (error) {
    return problem(error instanceof MemoryError ? error.message : `${name} cannot be imported`);
  }
  return ok(`${name} ${version}`);
}

/** The optional packages that the configuration needs, with their versions. */
export function checkPackages({ values, telemetry }: LoadedConfig): Finding {
  const needed: readonly (readonly [isNeeded: boolean, name: PeerName])[] = [
    [values['model.provider'] === 'anthropic', '@anthropic-ai/sdk'],
    [values['embedder.provider'] === 'local', '@huggingface/transformers'],
    [
      telemetry['OTEL_EXPORTER_OTLP_ENDPOINT'] !== undefined ||
        telemetry['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] !== undefined,
      '@opentelemetry/sdk-trace-node',
    ],
  ];
  const names = needed.flatMap(([isNeeded, name]) => (isNeeded ? [name] : []));
  if (names.length === 0) return ok('none is needed');
  const found = names.map((name) => [name, findPeerVersion(name)] as const);
  const missing = found.flatMap(([name, version]) => (version === null ? [name] : []));
  if (missing.length > 0) {
    return problem(
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not installed`,
      `Run npm install ${missing.join(' ')}.`,
    );
  }
  return ok(found.map(([name, version]) => `${name} ${String(version)}`).join(', '));
}
