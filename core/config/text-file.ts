import { readFile } from 'node:fs/promises';

/**
 * Reads a text file that a person may have written with any editor: without the byte order mark
 * that editors on Windows put in front, and also in UTF-16, as a redirect of PowerShell writes it.
 * Rejects with the error of the file system.
 */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await readFile(path);
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8';
  // The decoder drops the mark.
  return new TextDecoder(encoding).decode(bytes);
}
