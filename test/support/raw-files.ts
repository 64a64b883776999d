import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** Where a text was found in a file: the page counts from 1, as SQLite's do. */
export interface RawHit {
  file: string;
  page: number;
  offset: number;
  /** The piece of the text that was found. */
  piece: string;
}

const PAGE_BYTES = 4_096;
/** The least characters of a piece: a shorter one would be found by chance. */
const PIECE = 8;

/**
 * Searches the bytes of every file in the directory of a database for a text, as an investigator would
 * who has the disk: in rows, and in what SQLite calls free. Contents, changed lines and words stand in
 * the file as UTF-8, but not always whole. A delta leaves out what both versions have, and an index
 * lower-cases its words and leaves out their common beginnings. So the text is searched for in pieces,
 * too.
 */
export async function findRaw(database: string, text: string): Promise<RawHit[]> {
  const directory = path.dirname(database);
  const hits: RawHit[] = [];
  for (const file of (await readdir(directory)).sort()) {
    const bytes = await readFile(path.join(directory, file));
    for (const piece of piecesOf(text)) {
      for (const encoding of ['utf8', 'utf16le'] as const) {
        const wanted = Buffer.from(piece, encoding);
        for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
          hits.push({ file, page: Math.floor(at / PAGE_BYTES) + 1, offset: at, piece });
        }
      }
    }
  }
  return hits;
}

/** The text, its halves and its ends, in both cases. */
function piecesOf(text: string): Set<string> {
  const pieces = [text, text.slice(0, PIECE), text.slice(-PIECE)];
  for (let at = PIECE; at + PIECE < text.length; at += PIECE)
    pieces.push(text.slice(at, at + PIECE));
  return new Set(
    pieces
      .flatMap((piece) => [piece, piece.toLowerCase()])
      .filter((piece) => piece.length >= Math.min(PIECE, text.length)),
  );
}
