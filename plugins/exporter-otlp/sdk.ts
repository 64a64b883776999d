import type * as api from '@opentelemetry/api';
import type * as json from '@opentelemetry/exporter-trace-otlp-http';
import type * as resources from '@opentelemetry/resources';
import type * as node from '@opentelemetry/sdk-trace-node';
import { importPeer } from '../../core/packages/import-peer.ts';
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
 * and what to install when one of them is not there or too old.
 */
export function importSdk(protocol: Protocol): Promise<OtlpSdk> {
  return importPeer('The OpenTelemetry exporter', {
    packages: [...COMMON, EXPORTERS[protocol]],
    async load() {
      const [apiModule, resourcesModule, nodeModule, { OTLPTraceExporter }] = await Promise.all([
        import('@opentelemetry/api'),
        import('@opentelemetry/resources'),
        import('@opentelemetry/sdk-trace-node'),
        importExporter(protocol),
      ]);
      return { api: apiModule, resources: resourcesModule, node: nodeModule, OTLPTraceExporter };
    },
    parts: ['OTLPTraceExporter'],
  });
}

const EXPORTERS = {
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto',
  'http/json': '@opentelemetry/exporter-trace-otlp-http',
} as const satisfies Record<Protocol, string>;

function importExporter(protocol: Protocol): Promise<Pick<OtlpSdk, 'OTLPTraceExporter'>> {
  return protocol === 'http/json'
    ? import('@opentelemetry/exporter-trace-otlp-http')
    : import('@opentelemetry/exporter-trace-otlp-proto');
}
