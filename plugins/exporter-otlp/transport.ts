import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { MemoryError } from '../../core/errors.ts';
import { runUntraced } from './app-context.ts';
import type { OtlpSdk } from './sdk.ts';
import type { OtlpSettings } from './settings.ts';

/** The way to the collector. */
export interface Transport {
  /** Resolves when the collector has acknowledged the spans; rejects with why it has not. */
  send(spans: ReadableSpan[]): Promise<void>;
  /** Breaks off what is under way. */
  close(): void;
}

/** Opens the SDK's own exporter. Rejects with `INVALID_REQUEST` for a certificate that can't be read. */
export async function openTransport(sdk: OtlpSdk, settings: OtlpSettings): Promise<Transport> {
  const [ca, cert, key] = await Promise.all([
    readPem('CERTIFICATE', settings.certificateFile),
    readPem('CLIENT_CERTIFICATE', settings.clientCertificateFile),
    readPem('CLIENT_KEY', settings.clientKeyFile),
  ]);
  const agents: Agent[] = [];
  const exporter = new sdk.OTLPTraceExporter({
    url: settings.url,
    headers: settings.headers,
    timeoutMillis: settings.timeoutMs,
    // An enum of a package that is not imported here; its members are these texts.
    compression: settings.compression as never,
    // One batch at a time goes out. The agent is our own, so that closing ends its connections.
    async httpAgentOptions(protocol) {
      // Imported late, as the SDK asks, so that the app's instrumentation comes first.
      const module = protocol === 'http:' ? await import('node:http') : await import('node:https');
      const agent = new module.Agent({
        keepAlive: true,
        ...(ca === null ? {} : { ca }),
        ...(cert === null ? {} : { cert }),
        ...(key === null ? {} : { key }),
      });
      agents.push(agent);
      return agent;
    },
  });
  return {
    send: (spans) =>
      new Promise((resolve, reject) => {
        runUntraced(sdk.api, () =>
          exporter.export(spans, ({ code, error }) => {
            // ExportResultCode of @opentelemetry/core: 0 is success.
            if (code === 0) resolve();
            else reject(error ?? new Error('the export failed'));
          }),
        );
      }),
    close: () => agents.forEach((agent) => agent.destroy()),
  };
}

async function readPem(name: string, file: string | null): Promise<Buffer | null> {
  if (file === null) return null;
  try {
    return await readFile(file);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError(
      'INVALID_REQUEST',
      `OTEL_EXPORTER_OTLP_${name} names a file that cannot be read (${String(code)}).`,
      { cause },
    );
  }
}
