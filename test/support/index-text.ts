import { type IndexedFile, indexFile } from '../../core/search/index/index-file.ts';
import { encodeFile } from '../../core/search/index/postings.ts';

/** Reads a file for the index without a pause. */
export function indexText(text: string, path: string): IndexedFile {
  return toEnd(indexFile(text, path));
}

/** Encodes its payloads without a pause. */
export function encodeText(file: IndexedFile): Map<string, Uint8Array> {
  return toEnd(encodeFile(file));
}

function toEnd<T>(steps: Generator<null, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
