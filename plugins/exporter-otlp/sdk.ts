import type * as api from '@opentelemetry/api';
import type * as json from '@opentelemetry/exporter-trace-otlp-http';
import type * as resources from '@opentelemetry/resources';
import type * as node from '@opentelemetry/sdk-trace-node';
import { MemoryError } from '../../core/errors.ts';
import type { Protocol } from './settings.ts';

/** The parts of OpenTelemetry that are used here. */
export interface OtlpSdk {
  api: typeof api;
  resources: typeof resources;
  node: typeof node;
  /** Of the protocol that was asked for; the two have the same options. */
  OTLPTraceExporter: typeof json.OTLPTraceExporter;
}

const COMMON = [
  '@opentelemetry/api',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
] as const;

/**
 * Imports the SDK when it is needed: its packages are optional peers. Rejects with `INVALID_REQUEST`
 * and what to install when one of them is not there.
 */
export async function importSdk(protocol: Protocol): Promise<OtlpSdk> {
  try {
    const [apiModule, resourcesModule, nodeModule, { OTLPTraceExporter }] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-node'),
      importExporter(protocol),
    ]);
    return { api: apiModule, resources: resourcesModule, node: nodeModule, OTLPTraceExporter };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const packages = [...COMMON, EXPORTERS[protocol]];
    throw new MemoryError(
      'INVALID_REQUEST',
      `The OpenTelemetry exporter needs packages that are not installed: npm install ${packages.join(' ')}`,
      { cause, details: { packages } },
    );
  }
}

const EXPORTERS: Record<Protocol, string> = {
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto',
  'http/json': '@opentelemetry/exporter-trace-otlp-http',
};

function importExporter(protocol: Protocol): Promise<Pick<OtlpSdk, 'OTLPTraceExporter'>> {
  return protocol === 'http/json'
    ? import('@opentelemetry/exporter-trace-otlp-http')
    : import('@opentelemetry/exporter-trace-otlp-proto');
}
