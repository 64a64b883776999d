import type { EventRecord } from './records.ts';

/**
 * Sends sanitised events elsewhere. `export` is called off the hot path with what the service has
 * recorded already; what it throws is logged and counted, and costs no tool call anything.
 */
export interface TraceExporter {
  readonly name: string;
  export(events: readonly EventRecord[]): Promise<void>;
  close?(): Promise<void>;
}
