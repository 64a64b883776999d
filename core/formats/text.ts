import { isUtf8 } from 'node:buffer';

/**
 * Decodes the text of an export: UTF-8, or UTF-16 as Windows writes it, without a byte order mark. A byte
 * that is not UTF-8 becomes half of a surrogate pair, which no memory takes: so it costs the one item
 * that it is in, and not the whole export.
 */
export function decodeExport(bytes: Buffer): string {
  const [first = 0, second = 0, third = 0] = bytes;
  if (first === 0xff && second === 0xfe) return bytes.toString('utf16le', 2);
  if (first === 0xfe && second === 0xff) return decodeBigEndian(bytes.subarray(2));
  // Without a mark: the first character of JSON is ASCII.
  if (bytes.length >= 2 && first !== 0 && second === 0) return bytes.toString('utf16le');
  if (bytes.length >= 2 && first === 0 && second !== 0) return decodeBigEndian(bytes);
  const hasMark = first === 0xef && second === 0xbb && third === 0xbf;
  return decodeUtf8(hasMark ? bytes.subarray(3) : bytes);
}

function decodeBigEndian(bytes: Buffer): string {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString('utf16le');
}

function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const parts: string[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(0x0a, from);
    const to = end === -1 ? bytes.length : end + 1;
    const line = bytes.subarray(from, to);
    parts.push(isUtf8(line) ? line.toString('utf8') : escapeBytes(line));
    from = to;
  }
  return parts.join('');
}

/** Half surrogates that stand for the bytes 0x80 to 0xff. */
const ESCAPED = 0xdc00;
const HAS_ESCAPED = /[\udc80-\udcff]/u;

/** Whether a decoded text has bytes that were not UTF-8. */
export function hasForeignBytes(text: string): boolean {
  return HAS_ESCAPED.test(text);
}

function escapeBytes(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const size = sizeOf(bytes[at] as number);
    const character = bytes.subarray(at, at + size);
    const isWhole = size > 0 && character.length === size && isUtf8(character);
    text += isWhole
      ? character.toString('utf8')
      : String.fromCharCode(ESCAPED + (bytes[at] as number));
    at += isWhole ? size : 1;
  }
  return text;
}

/** How many bytes a character has that starts with this one; 0 where none does. */
function sizeOf(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/** What a file is that is no text of an export, as far as its first bytes say. */
export function nameContent(bytes: Buffer): string | null {
  const start = bytes
    .toString('latin1', 0, 64)
    .replace(/^\xef\xbb\xbf/, '')
    .replace(/\s+/g, '');
  const known = CONTENTS.find(([pattern]) => pattern.test(start));
  return known?.[1] ?? null;
}

/** Without white space. */
const CONTENTS: readonly [RegExp, string][] = [
  [/^PK(?:\x03\x04|\x05\x06)/, 'a zip file: unpack it, and import what is in it'],
  [/^SQLiteformat3\0/, 'a SQLite database, and no export'],
  [
    /^(?:\x28\xb5\x2f\xfd|BZh\d|\xfd7zXZ|7z\xbc\xaf)/,
    'compressed in a way that is not known: unpack it, or use gzip',
  ],
  [/^%PDF-/, 'a PDF file'],
  [/^<(?:!doctype|html|\?xml)/i, 'a web page or XML, and no JSON: was the export saved signed in?'],
  [/^[[{][[{]?u?'[^']*':/, 'what Python prints, and no JSON: save it with json.dump'],
];
