import { inSlices } from '../time/pause.ts';
import { parseHeading } from '../markdown/structure.ts';
import type { REPAIRS } from '../schemas/dreams.ts';
import { isBlank, toCountedLines } from './markdown.ts';
import { type EditOperation, FACT_PATH, type LineRef } from './operations.ts';
import { toPromptLine } from './prompt-text.ts';
import { toLoose } from './loose-text.ts';
import type { EditedFile, EditedMemory } from './edited-memory.ts';
import { toBare } from './loose-text.ts';

/** What was mended in an operation that a model got almost right. */
export type Repair = (typeof REPAIRS)[number];

/** How a model may name the fact: by the word, or by the mark around it. */
const FACT_MARK = /^(?:user\/)?fact[^/]*$/i;

/** Marks of a prompt that are no files: what is under them is no source. */
const NO_SOURCES: ReadonlySet<string> = new Set(['user/context']);

/** Mends what a model may get wrong without loss, on memory as it was shown to the model. */
export async function repair(
  memory: EditedMemory,
  operations: readonly EditOperation[],
): Promise<EditOperation[]> {
  return await inSlices(repairLines(repairPaths(operations, memory), memory));
}

/**
 * Mends the paths of operations: whatever starts with `fact` is the fact, where no file has that name;
 * a path in another case is that of the one file that it fits.
 */
export function repairPaths(
  operations: readonly EditOperation[],
  memory: Pick<EditedMemory, 'paths' | 'fact'>,
): EditOperation[] {
  const byCase = new Map<string, string | null>();
  for (const path of memory.paths) {
    const key = path.toLowerCase();
    byCase.set(key, byCase.has(key) ? null : path);
  }
  return operations.map((operation) => {
    const repaired = new Set(operation.repaired);
    const toPath = (path: string): string => {
      if (path === FACT_PATH || memory.paths.has(path)) return path;
      const known = byCase.get(path.toLowerCase()) ?? null;
      if (known !== null) {
        repaired.add('path');
        return known;
      }
      if (memory.fact === undefined || !FACT_MARK.test(path)) return path;
      repaired.add('fact');
      return FACT_PATH;
    };
    const toRef = (ref: LineRef): LineRef => ({ ...ref, path: toPath(ref.path) });
    // What is removed is a line of a file: the fact is only the reason.
    const remove = operation.remove.map(toRef).filter(({ path }) => path !== FACT_PATH);
    const sources = operation.sources.map(toRef);
    const { add } = operation;
    // A new file may have any name.
    const isNamed = add !== null && !FACT_MARK.test(add.path);
    const added = isNamed ? { ...add, path: toPath(add.path) } : add;
    return { ...operation, remove, sources, add: added, repaired: [...repaired] };
  });
}

/**
 * Mends the quotations and the new lines of operations on memory as it was shown to the model. A
 * quotation that fits no line, or several ones, stays as it is, and the engine refuses it.
 */
export function* repairLines(
  operations: readonly EditOperation[],
  memory: EditedMemory,
): Generator<null, EditOperation[]> {
  const files = new Map(memory.files.map((file) => [file.path, new QuotedFile(file)]));
  const mended: EditOperation[] = [];
  for (const operation of operations) {
    yield null;
    const repaired = new Set(operation.repaired);
    for (const { path } of [...operation.remove, ...operation.sources]) {
      const file = files.get(path);
      if (file !== undefined) yield* file.prepare();
    }
    const toRef = (ref: LineRef): LineRef => {
      const found = files.get(ref.path)?.mend(ref) ?? null;
      if (found === null) return ref;
      found.repaired.forEach((one) => repaired.add(one));
      return found.ref;
    };
    const remove = operation.remove.map(toRef);
    const needsSources =
      memory.fact === undefined &&
      (operation.kind === 'supersede' || (operation.kind === 'merge' && operation.add === null));
    const isOf = (ref: LineRef) =>
      ref.path === FACT_PATH
        ? isInFact(ref, memory.fact ?? '')
        : NO_SOURCES.has(ref.path) || files.get(ref.path)?.has(ref) === true;
    const named = operation.sources.map(toRef);
    const sources = needsSources ? named : named.filter(isOf);
    if (sources.length < named.length) repaired.add('source');
    const { add, ...more } = repairAdded(operation, files);
    more.repaired.forEach((one) => repaired.add(one));
    mended.push({ ...operation, remove, sources, add, repaired: [...repaired] });
  }
  return mended;
}

/** All that the fact says is a source anyway. */
function isInFact({ text }: LineRef, fact: string): boolean {
  return text === null || fact.split('\n').some((line) => toPromptLine(line).includes(text.trim()));
}

/** The lines of a file by what quotations are compared with. */
class QuotedFile {
  readonly #file: EditedFile;
  #lines: string[] | null = null;
  readonly #exact = new Map<string, number[]>();
  readonly #loose = new Map<string, number[]>();

  constructor(file: EditedFile) {
    this.#file = file;
  }

  /** Takes the file apart, once; yields now and then. */
  *prepare(): Generator<null, void> {
    if (this.#lines !== null) return;
    const lines = toCountedLines(this.#file.content).split('\n');
    if (lines.at(-1) === '') lines.pop();
    this.#lines = [];
    for (const [at, line] of lines.entries()) {
      if (at % LINES_PER_STEP === 0) yield null;
      const shown = toPromptLine(line.replace(/\r$/, ''));
      this.#lines.push(shown);
      note(this.#exact, toBare(shown), at + 1);
      note(this.#loose, toLoose(shown), at + 1);
    }
  }

  /** Whether a line has the text of a reference, or its number where it has no text. */
  has({ line, text }: LineRef): boolean {
    if (text === null) return this.#lines?.[(line ?? 0) - 1] !== undefined;
    return this.#exact.has(toBare(toPromptLine(text)));
  }

  /** The reference as it should have been; `null` where it is right, or where nothing can be said. */
  mend(ref: LineRef): { ref: LineRef; repaired: Repair[] } | null {
    if (ref.text === null) return null;
    const exact = this.#exact.get(toBare(toPromptLine(ref.text))) ?? [];
    // Of several, the number decides: see `Workspace.locate`.
    if (exact.length > 1) return null;
    const [first] = exact;
    if (first !== undefined) {
      const line = this.#lines?.[first - 1] ?? '';
      const isQuoted = toPromptLine(ref.text).trim() === line.trim();
      const isOff = (ref.line ?? 0) > 0 && ref.line !== first;
      const repaired: Repair[] = [
        ...(isQuoted ? [] : ['quote' as const]),
        ...(isOff ? ['line' as const] : []),
      ];
      const mended = { ...ref, line: first, ...(isQuoted ? {} : { text: line }) };
      return repaired.length === 0 ? null : { ref: mended, repaired };
    }
    const fits = this.#loose.get(toLoose(ref.text)) ?? [];
    const [number] = fits;
    const text = this.#lines?.[(number ?? 0) - 1];
    if (fits.length !== 1 || number === undefined || text === undefined) return null;
    return { ref: { ...ref, line: number, text }, repaired: ['quote'] };
  }
}

/** Lines between two steps. */
const LINES_PER_STEP = 1_000;

function note(index: Map<string, number[]>, key: string, number: number): void {
  if (key === '') return;
  const numbers = index.get(key);
  if (numbers === undefined) index.set(key, [number]);
  else numbers.push(number);
}

/** New lines as they should have been: a heading where it belongs, one line each, with a bullet. */
function repairAdded(
  { add, kind, remove }: EditOperation,
  files: ReadonlyMap<string, unknown>,
): { add: EditOperation['add']; repaired: Repair[] } {
  if (add === null) return { add, repaired: [] };
  const repaired = new Set<Repair>();
  let { heading } = add;
  const isNewFile = !files.has(add.path);
  let lines = add.lines.flatMap((line) => line.split(/\r?\n/));
  if (lines.length > add.lines.length) repaired.add('space');
  const wanted = lines.findIndex((line) => !isBlank(line));
  const title = parseHeading(lines[wanted] ?? '')?.title;
  const isSame = title !== undefined && title.toLowerCase() === heading?.toLowerCase();
  // In place of a line, a heading would part what stands below it.
  if (title !== undefined && (isSame || (heading === null && remove.length === 0))) {
    if (lines.slice(wanted + 1).some((line) => !isBlank(line))) {
      heading ??= title;
      lines = lines.slice(wanted + 1);
      repaired.add('heading');
    }
  }
  const written = lines.filter((line) => !isBlank(line));
  if (written.length < lines.length && written.length > 0 && !isNewFile) repaired.add('space');
  if (!isNewFile && written.length > 0) lines = written;
  while (lines.length > 1 && isBlank(lines[0] ?? '')) lines = lines.slice(1);
  while (lines.length > 1 && isBlank(lines.at(-1) ?? '')) lines = lines.slice(0, -1);
  const bulleted = lines.map((line) => line.replace(/^(\s*)[•·‣◦]\s*/u, '$1- '));
  if (kind !== 'move' && bulleted.some((line, at) => line !== lines[at])) {
    lines = bulleted;
    repaired.add('bullet');
  }
  return { add: { ...add, heading, lines }, repaired: [...repaired] };
}
