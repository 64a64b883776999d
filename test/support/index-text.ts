import { type IndexedFile, indexFile } from '../../core/search/index/index-file.ts';

/** Reads a file for the index without a pause. */
export function indexText(text: string, path: string): IndexedFile {
  const steps = indexFile(text, path);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
