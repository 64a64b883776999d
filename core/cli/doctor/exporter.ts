import { openExporters, openTelemetryExporter, type LoadedConfig } from '../../config/index.ts';
import type { TraceExporter } from '../../contracts/trace-exporter.ts';
import { withDeadline } from '../../time/deadline.ts';
import { type Finding, off, ok, problem, toProblem } from './finding.ts';

/** What an exporter may take for an export without spans. */
const LIMIT_MS = 12_000;

/** Sends each exporter's collector an export without spans. */
export async function checkExporters(loaded: LoadedConfig): Promise<Finding> {
  const wrong: string[] = [];
  let exporters: TraceExporter[];
  try {
    const telemetry = await openTelemetryExporter(loaded, wrong);
    exporters = [...(await openExporters(loaded)), ...(telemetry === null ? [] : [telemetry])];
  } catch (error) {
    return toProblem(error);
  }
  const [first, ...others] = wrong;
  if (first !== undefined) return problem(first, ...others);
  if (exporters.length === 0) {
    return off('set OTEL_EXPORTER_OTLP_ENDPOINT, as in http://127.0.0.1:4318.');
  }
  const failed: string[] = [];
  const good: string[] = [];
  for (const exporter of exporters) {
    const { name } = exporter;
    const late = () => new Error(`no answer in ${LIMIT_MS / 1_000} s`);
    try {
      await withDeadline(Promise.resolve(exporter.check?.()), LIMIT_MS, late);
      good.push(exporter.check === undefined ? `${name} (has no check of its own)` : name);
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message : 'it failed'}`);
    }
  }
  const [text, ...more] = failed;
  if (text === undefined) return ok(`${good.join(', ')} takes spans`);
  return problem(
    text,
    ...more,
    'Check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS.',
  );
}
