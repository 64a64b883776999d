import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MemoryError } from '../errors.ts';
import { makeTemporaryFolder } from '../maintenance/temporary-folders.ts';
import { ARCHIVE_LIMITS, type OpenArchive } from './read.ts';

/** A stream as a temporary file, which can be read several times. */
export interface Spool {
  open: OpenArchive;
  remove(): Promise<void>;
}

/**
 * Writes a stream to a temporary file that only this user of the machine can read. Throws
 * `PAYLOAD_TOO_LARGE` above the limit of an archive.
 */
export async function spoolArchive(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number = ARCHIVE_LIMITS.packedBytes,
): Promise<Spool> {
  const folder = await makeTemporaryFolder('import');
  const remove = () => folder.remove();
  const file = join(folder.path, 'archive.tar.gz');
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return done(null, chunk);
      done(
        new MemoryError('PAYLOAD_TOO_LARGE', `An archive has at most ${maxBytes} bytes.`, {
          details: { limit: maxBytes },
          situation: 'archive',
        }),
      );
    },
  });
  try {
    await pipeline(stream, limit, createWriteStream(file, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    await remove();
    throw error;
  }
  return { open: () => createReadStream(file), remove };
}
