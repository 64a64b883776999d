import type { LoadedConfig } from '../../config/index.ts';
import { MemoryError } from '../../errors.ts';
import { findPeerVersion, importPeer, type PeerName } from '../../packages/import-peer.ts';
import { type Finding, off, ok, problem } from './finding.ts';

const MCP_SDK = '@modelcontextprotocol/sdk';

/** Whether the SDK of MCP is there and new enough. */
export async function checkMcpSdk(): Promise<Finding> {
  const version = findPeerVersion(MCP_SDK);
  if (version === null) return off(`npm install ${MCP_SDK}, for clients that speak MCP.`);
  try {
    await importPeer('MCP', {
      packages: [MCP_SDK],
      load: () => import('@modelcontextprotocol/sdk/server/index.js'),
      parts: ['Server'],
    });
  } catch (error) {
    return problem(error instanceof MemoryError ? error.message : `${MCP_SDK} cannot be imported`);
  }
  return ok(`${MCP_SDK} ${version}`);
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
