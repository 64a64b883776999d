import { on } from 'node:events';
import { Readable } from 'node:stream';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { toMemoryError } from '../errors.ts';
import {
  convertExport,
  type ConvertedExport,
  type ConvertExportOptions,
} from './convert-export.ts';

/** A part of the export. `null` is its end, and after that a request for the next page. */
export type ToThread = Uint8Array | null;

/** The first answer. */
export type Conversion =
  | Pick<ConvertedExport, 'from' | 'archive' | 'items'>
  | { error: { code: string; message: string; details: Record<string, unknown> | undefined } };

/** What became of some items: few enough that to read them holds up no call. The last is empty. */
export interface ItemsPage {
  itemsOf: [path: string, items: number][];
  skipped: ConvertedExport['skipped'];
}

const PAGE_ITEMS = 2_000;

/** Converts one export, then answers with what became of its items, page by page. */
async function serveConversion(port: MessagePort): Promise<void> {
  const messages = on(port, 'message') as AsyncIterator<[ToThread]>;
  const receive = async (): Promise<ToThread> => ((await messages.next()).value as [ToThread])[0];
  const parts: Uint8Array[] = [];
  for (let part = await receive(); part !== null; part = await receive()) parts.push(part);
  const bytes = Buffer.concat(parts);
  try {
    const options = workerData as ConvertExportOptions;
    const { from, archive, items, ...rest } = await convertExport(
      () => Readable.from([bytes]),
      options,
    );
    port.postMessage({ from, archive, items } satisfies Conversion, [archive.buffer]);
    const itemsOf = [...rest.itemsOf];
    for (let at = 0; ; at += PAGE_ITEMS) {
      await receive();
      const end = at + PAGE_ITEMS;
      const skipped = rest.skipped.slice(at, end);
      port.postMessage({ itemsOf: itemsOf.slice(at, end), skipped } satisfies ItemsPage);
    }
  } catch (thrown) {
    const { code, message, details } = toMemoryError(thrown);
    port.postMessage({ error: { code, message, details } } satisfies Conversion);
  }
}

if (parentPort !== null) void serveConversion(parentPort);
