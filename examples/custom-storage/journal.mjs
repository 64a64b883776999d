// Tables in memory. Every transaction is first written to a file as one line, so an answered
// transaction is on the disk, and an incomplete line was never answered.

import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from 'memory-service/plugin';

const FORMAT = 1;
/** The file is written anew at the start when it has so many more lines than there are rows. */
const SPARE_LINES = 10_000;

/**
 * A row that a transaction writes, or removes with `null`: table, key, row.
 *
 * @typedef {[table: string, key: string, row: unknown]} Change
 */

// #region journal
/** Tables in memory, and the file that they are made from. */
export class Journal {
  /** @type {Map<string, Map<string, any>>} */
  #tables = new Map();
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();
  /** @type {import('node:fs/promises').FileHandle | null} */
  #file = null;
  #size = 0;
  #isClosed = false;
  /** @type {string} */
  #filename;
  #isSynchronous;

  /** @param {{ filename: string, synchronous?: boolean | undefined }} options */
  constructor({ filename, synchronous = true }) {
    this.#filename = filename;
    this.#isSynchronous = synchronous;
  }

  /**
   * The committed rows of a table by their keys. A row is replaced, never changed.
   *
   * @param {string} name
   * @returns {ReadonlyMap<string, any>}
   */
  table(name) {
    this.#opened();
    return this.#rows(name);
  }

  /**
   * Runs one transaction after the other: the simplest lock.
   *
   * @template T
   * @param {() => Promise<T>} run
   * @returns {Promise<T>}
   */
  exclusively(run) {
    if (this.#isClosed) return Promise.reject(new MemoryError('SHUTTING_DOWN'));
    const turn = this.#last.then(run).catch(throwTranslated);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Writes all changes to the disk, then makes them visible. Call it inside `exclusively`.
   *
   * @param {readonly Change[]} changes
   */
  async commit(changes) {
    if (changes.length === 0) return;
    const line = Buffer.from(toLine(changes));
    const file = this.#opened();
    try {
      for (let done = 0; done < line.length;) {
        const at = this.#size + done;
        done += (await file.write(line, done, line.length - done, at)).bytesWritten;
      }
      if (this.#isSynchronous) await file.datasync();
    } catch (error) {
      // Remove an incomplete line before the next one is written.
      await file.truncate(this.#size).catch(() => this.#giveUp());
      throw error;
    }
    this.#size += line.length;
    this.#apply(changes);
  }
  // #endregion

  /** Reads the file, and cuts off what a crash left behind the last whole line. */
  async open() {
    await mkdir(dirname(this.#filename), { recursive: true });
    await rm(`${this.#filename}.new`, { force: true });
    const file = await open(this.#filename, 'a+', 0o600);
    await file.close();
    this.#file = await open(this.#filename, 'r+');
    const text = await this.#file.readFile('utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const lines = whole.split('\n').slice(0, -1);
    this.#checkFormat(lines[0]);
    for (const line of lines.slice(1)) this.#apply(parseLine(line));
    this.#size = Buffer.byteLength(whole);
    await this.#file.truncate(this.#size);
    let rows = 0;
    for (const table of this.#tables.values()) rows += table.size;
    if (lines.length === 0 || lines.length > rows + SPARE_LINES) await this.#writeAnew();
  }

  /** Waits for the transactions that have begun. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#last;
    await this.#file?.close();
    this.#file = null;
  }

  /** @param {string | undefined} header */
  #checkFormat(header) {
    if (header === undefined) return;
    const { format } = JSON.parse(header);
    if (format <= FORMAT) return;
    const message = `The journal has format ${format}, and this driver knows up to ${FORMAT}.`;
    throw new MemoryError('STORAGE_UNAVAILABLE', message);
  }

  /** A line for each row and none for what is gone; the old file stays until the new one is whole. */
  async #writeAnew() {
    const next = await open(`${this.#filename}.new`, 'w+', 0o600);
    const lines = [`${JSON.stringify({ format: FORMAT })}\n`];
    for (const [name, table] of this.#tables) {
      for (const [key, row] of table) lines.push(toLine([[name, key, row]]));
    }
    const text = Buffer.from(lines.join(''));
    await next.writeFile(text);
    await next.sync();
    await rename(`${this.#filename}.new`, this.#filename);
    const directory = await open(dirname(this.#filename));
    await directory.sync();
    await directory.close();
    await this.#file?.close();
    this.#file = next;
    this.#size = text.length;
  }

  /** @param {readonly Change[]} changes */
  #apply(changes) {
    for (const [table, key, row] of changes) {
      if (row === null) this.#rows(table).delete(key);
      else this.#rows(table).set(key, row);
    }
  }

  /** @param {string} name */
  #rows(name) {
    const rows = this.#tables.get(name) ?? new Map();
    this.#tables.set(name, rows);
    return rows;
  }

  #opened() {
    if (this.#file !== null) return this.#file;
    throw new MemoryError(this.#isClosed ? 'SHUTTING_DOWN' : 'STORAGE_UNAVAILABLE');
  }

  #giveUp() {
    this.#isClosed = true;
  }
}

/** @param {readonly Change[]} changes */
function toLine(changes) {
  /** @type {(this: any, key: string, value: unknown) => unknown} */
  function replace(key, value) {
    // Buffers arrive in the form of their toJSON().
    const raw = this[key];
    return raw instanceof Uint8Array ? { $bytes: Buffer.from(raw).toString('base64') } : value;
  }
  return `${JSON.stringify(changes, replace)}\n`;
}

/**
 * @param {string} line
 * @returns {Change[]}
 */
function parseLine(line) {
  try {
    return JSON.parse(line, (_key, value) =>
      typeof value?.$bytes === 'string' ? Buffer.from(value.$bytes, 'base64') : value,
    );
  } catch (cause) {
    throw new MemoryError('STORAGE_UNAVAILABLE', 'The journal is damaged.', { cause });
  }
}

/**
 * A driver throws only `MemoryError`.
 *
 * @param {unknown} error
 * @returns {never}
 */
function throwTranslated(error) {
  if (error instanceof MemoryError) throw error;
  const { code } = /** @type {NodeJS.ErrnoException} */ (error);
  const isFull = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'].includes(code ?? '');
  throw new MemoryError(isFull ? 'STORAGE_FULL' : 'INTERNAL', undefined, { cause: error });
}
