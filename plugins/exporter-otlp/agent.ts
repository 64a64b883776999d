import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import { MemoryError } from '../../core/errors.ts';
import { createTunnelAgent, findProxy } from '../../core/network/proxy.ts';

/** The connections to the collector. */
export interface Agents {
  /** For the option `httpAgentOptions` of the SDK's exporter. */
  create(protocol: string): Promise<Agent>;
  /** Cuts all connections. */
  destroy(): void;
}

/**
 * Prepares the agents with the certificates that the `OTEL_*` variables name. The SDK reads these
 * files, too, but connects without one that it cannot read, and its agent cannot be closed: a
 * collector that hangs would keep the process alive. Rejects with `INVALID_REQUEST` if a file cannot
 * be read.
 */
export async function openAgents(environment: Readonly<Record<string, string>>): Promise<Agents> {
  async function readPem(name: string): Promise<Buffer | undefined> {
    const variables = [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`];
    const variable = variables.find((one) => environment[one] !== undefined);
    if (variable === undefined) return undefined;
    try {
      return await readFile(environment[variable] ?? '');
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      const message = `${variable} names a file that cannot be read (${String(code)}).`;
      throw new MemoryError('INVALID_REQUEST', message, { cause });
    }
  }
  const [ca, cert, key] = await Promise.all(
    ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(readPem),
  );
  const endpoint =
    environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const proxy =
    endpoint !== undefined && URL.canParse(endpoint) ? findProxy(new URL(endpoint)) : null;
  const agents: Agent[] = [];
  return {
    async create(protocol) {
      // Imported late, as the SDK asks, so that the app's instrumentation comes first.
      const module = protocol === 'http:' ? await import('node:http') : await import('node:https');
      const agent =
        proxy === null
          ? new module.Agent({ keepAlive: true, ca, cert, key })
          : createTunnelAgent(proxy, protocol, { ca, cert, key });
      agents.push(agent);
      return agent;
    },
    destroy: () => agents.forEach((agent) => agent.destroy()),
  };
}
