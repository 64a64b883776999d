import { findLinks } from '../../files/links.ts';
import { createPause, type Pause } from '../../pause.ts';
import { CHECKS, type Candidate, type Check, INDEX_PATH } from './checks.ts';
import { readKnownLines } from './known-lines.ts';
import type { Operation } from './operations.ts';
import { parseHeading, type ShownFile, type Snapshot } from './shown-file.ts';

/** What becomes of one file. */
export interface PlannedFile {
  path: string;
  /** The version that was shown; 0 for a file that is created. */
  version: number;
  before: string | null;
  after: string;
}

/** Why a proposal is refused: the rule, and words that quote nothing of the model. */
export interface PlanFault {
  check: string;
  /** Of the operations, from 0; `null` for all of them together. */
  operation: number | null;
  message: string;
  /** The words that it is refused for, for nobody but the model: they are its own, or of memory. */
  words?: readonly string[];
}

/** What would be written, or why nothing is. */
export type Plan = { files: readonly PlannedFile[] } | { fault: PlanFault };

/**
 * Makes files of operations: all of them, or none when one breaks a rule. A file that is created
 * comes into the catalog where there is one, whether or not the model thought of it. Pure, and in
 * slices, so that other calls go on. Throws `WORK_LIMIT_EXCEEDED` where there is too much to compare.
 *
 * @param options.checks the rules; the tests leave one out to see what it is good for.
 */
export async function planOperations(
  snapshot: Snapshot,
  fact: string,
  operations: readonly Operation[],
  options: { maxWrites: number; today: string; checks?: Readonly<Record<string, Check>> },
): Promise<Plan> {
  const { maxWrites, today, checks = CHECKS } = options;
  const pause = createPause();
  const shown = [...snapshot.files.values()].filter(({ path }) => path !== INDEX_PATH);
  const known = await readKnownLines(operations.length === 0 ? [] : shown, pause);
  const drafts = new Map<string, FileDraft>();
  for (const [index, operation] of operations.entries()) {
    const file = snapshot.files.get(operation.path) ?? null;
    const earlier = operations.slice(0, index);
    const candidate: Candidate = {
      ...{ operation, fact, snapshot, file, earlier, operations, today },
      known,
      pause,
    };
    for (const [check, find] of Object.entries(checks)) {
      await pause();
      const objection = await find(candidate);
      if (objection === null) continue;
      const { message, words = [] } =
        typeof objection === 'string' ? { message: objection } : objection;
      return { fault: { check, operation: index, message, words } };
    }
    let draft = drafts.get(operation.path);
    if (draft === undefined) drafts.set(operation.path, (draft = new FileDraft(file)));
    draft.apply(operation);
  }
  await catalogue(snapshot, operations, { drafts, pause });
  const files: PlannedFile[] = [];
  for (const [path, draft] of drafts) {
    await pause();
    files.push(...draft.toPlanned(path));
  }
  if (files.length > maxWrites) {
    const message = `${files.length} files would change; at most ${maxWrites} may.`;
    return { fault: { check: 'budget', operation: null, message } };
  }
  return { files };
}

/** Adds a line for each created file that the catalog does not have. */
async function catalogue(
  { files }: Snapshot,
  operations: readonly Operation[],
  { drafts, pause }: { drafts: Map<string, FileDraft>; pause: Pause },
): Promise<void> {
  const index = files.get(INDEX_PATH);
  const created = operations.filter(({ kind }) => kind === 'create');
  if (index === undefined || created.length === 0) return;
  const draft = drafts.get(INDEX_PATH) ?? new FileDraft(index);
  await pause();
  const listed = new Set(findLinks(draft.text(), INDEX_PATH));
  for (const { path, lines } of created) {
    await pause();
    if (listed.has(path)) continue;
    listed.add(path);
    drafts.set(INDEX_PATH, draft);
    const target = path.slice('user/'.length);
    const stem = (target.split('/').at(-1) ?? target).replace(/\.md$/, '');
    const title = lines.map(parseHeading).find((text) => text !== null && text !== '');
    const words = (title ?? stem.replaceAll(/[-_]/g, ' ')).replaceAll(/[[\]()]/g, '');
    draft.add([`- [${words}](${toTarget(target)})`], null);
  }
}

/** A path as the target of a link: what would end it, or part it, is encoded. */
function toTarget(path: string): string {
  return path.replaceAll(/[\s()#[\]]/gu, (character) => {
    const encoded = encodeURIComponent(character);
    return encoded === character ? `%${character.charCodeAt(0).toString(16)}` : encoded;
  });
}

/** A file while operations change it: its lines keep the numbers under which they were shown. */
class FileDraft {
  readonly #file: ShownFile | null;
  #rows: { line: number | null; text: string | null }[];

  constructor(file: ShownFile | null) {
    this.#file = file;
    // As they stand: what is not changed stays the same to the byte.
    const raw = file?.content.split('\n').slice(0, file.lines.length) ?? [];
    this.#rows = raw.map((text, index) => ({ line: index + 1, text }));
  }

  apply({ removed, lines, heading }: Operation): void {
    if (removed === null) {
      this.add(lines, heading);
      return;
    }
    const at = this.#rows.findIndex(({ line }) => line === removed.line);
    // A rule lets no other line through; without it there is none to take away.
    if (at === -1) return;
    const rows = lines.map((text) => ({ line: null, text }));
    this.#rows.splice(at, 1, { line: removed.line, text: null }, ...rows);
  }

  /** At the end of a section, or of the file. */
  add(lines: readonly string[], heading: string | null): void {
    const rows = lines.map((text) => ({ line: null, text }));
    const start = heading === null ? -1 : this.#findHeading(heading);
    if (heading !== null && start === -1) {
      const title = { line: null, text: `## ${heading}` };
      const blank = { line: null, text: '' };
      const head = this.#rows.length === 0 ? [title, blank] : [blank, title, { ...blank }];
      this.#rows.splice(this.#behindLast(0, this.#rows.length), 0, ...head, ...rows);
      return;
    }
    const next = this.#rows.findIndex((row, at) => at > start && this.#isHeading(row));
    const end = start === -1 || next === -1 ? this.#rows.length : next;
    const at = this.#behindLast(start + 1, end);
    // Under a heading, the first lines stand apart from it as markdown has it.
    const above = this.#rows[at - 1];
    const isFirst = above !== undefined && this.#isHeading(above);
    this.#rows.splice(at, 0, ...(isFirst ? [{ line: null, text: '' }] : []), ...rows);
  }

  text(): string {
    const rows = this.#rows.filter(({ text }) => text !== null);
    const last = rows.at(-1);
    if (last === undefined) return '';
    const lines = rows.map(({ line, text }) => `${text}${line === null ? this.#lineEnd : ''}`);
    const isCut = last.line !== null && this.#file?.endsWithEol === false;
    return lines.join('\n') + (isCut ? '' : '\n');
  }

  toPlanned(path: string): PlannedFile[] {
    const before = this.#file?.content ?? null;
    const after = this.text();
    return before === after ? [] : [{ path, version: this.#file?.version ?? 0, before, after }];
  }

  get #lineEnd(): string {
    return this.#file?.lineEnd ?? '';
  }

  #findHeading(wanted: string): number {
    return this.#rows.findIndex(
      ({ line }) =>
        line !== null && this.#file?.headings[line - 1]?.toLowerCase() === wanted.toLowerCase(),
    );
  }

  #isHeading({ line }: { line: number | null }): boolean {
    return line !== null && typeof this.#file?.headings[line - 1] === 'string';
  }

  #behindLast(from: number, to: number): number {
    let end = to;
    while (end > from && (this.#rows[end - 1]?.text ?? '').trim() === '') end -= 1;
    return end;
  }
}
