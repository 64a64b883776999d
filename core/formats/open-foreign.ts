import { on } from 'node:events';
import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { type ErrorCode, MemoryError } from '../errors.ts';
import type { SkippedItem } from '../schemas/archive.ts';
import type { OpenArchive } from '../archive/read.ts';
import { checkBytes, type ConvertedExport, type ConvertExportOptions } from './convert-export.ts';
import type { Conversion, ItemsPage, ToThread } from './thread.ts';

/** An export of another program as an archive without history. */
export interface ForeignArchive extends Pick<ConvertedExport, 'from' | 'items' | 'itemsOf'> {
  open: OpenArchive;
  skipped: readonly SkippedItem[];
}

/** For the sources it is the built one: Node runs no TypeScript in a thread. */
const THREAD = import.meta.url.endsWith('.ts')
  ? '../../dist/core/formats/thread.js'
  : '../formats/thread.js';

/** JSON of 32 MB that is nested without end takes more, and would end the process. */
const THREAD_MB = 1_024;

/**
 * Converts an export of another program on a thread of its own, since a large one takes seconds. What
 * the archive holds is checked and imported like any other. Throws what `convertExport` throws.
 */
export async function openForeign(
  open: OpenArchive,
  options: ConvertExportOptions,
): Promise<ForeignArchive> {
  const thread = new Worker(new URL(THREAD, import.meta.url), {
    workerData: options,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MB },
  });
  const answers = on(thread, 'message', { close: ['exit'] });
  const send = (message: ToThread): void => thread.postMessage(message);
  const receive = async <Answer>(): Promise<Answer> => {
    const { value, done } = await answers.next();
    if (done === true) throw new Error('The thread of the conversion has ended.');
    return (value as [Answer])[0];
  };
  try {
    let bytes = 0;
    for await (const chunk of open() as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      checkBytes(bytes);
      // A copy of the chunk alone: otherwise all of the buffer that it is a part of is copied.
      send(Uint8Array.prototype.slice.call(chunk));
    }
    send(null);
    const conversion = await receive<Conversion>();
    if ('error' in conversion) {
      const { code, message, details } = conversion.error;
      throw new MemoryError(code as ErrorCode, message, { details });
    }
    const { from, items, archive } = conversion;
    const itemsOf = new Map<string, number>();
    const skipped: SkippedItem[] = [];
    for (;;) {
      send(null);
      const page = await receive<ItemsPage>();
      if (page.itemsOf.length === 0 && page.skipped.length === 0) break;
      for (const [path, count] of page.itemsOf) itemsOf.set(path, count);
      skipped.push(...page.skipped);
    }
    return { from, items, itemsOf, skipped, open: () => Readable.from([Buffer.from(archive)]) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    const message =
      'The export needs too much memory to be read: it is nested too deeply. Split it.';
    throw new MemoryError('PAYLOAD_TOO_LARGE', message, { cause: error });
  } finally {
    await answers.return?.();
    await thread.terminate();
  }
}
