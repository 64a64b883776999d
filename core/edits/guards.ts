import { findLinks } from '../files/links.ts';
import { listExpired, type Moment, readValidUntil } from '../markdown/valid-until.ts';
import { finish } from '../time/pause.ts';
import { bringsInstruction } from './instructions.ts';
import { isBlank } from './markdown.ts';
import { FACT_PATH } from './operations.ts';
import { listSecrets, nameSecret } from '../screening/detect.ts';
import { missingSpecifics, type Specific } from './specifics.ts';
import type { Subjects } from './subject.ts';
import { isMovedAlike, isSameView, type OperationView, toView } from './views.ts';
import { groundsOf, type LocatedOperation, touchedBy, type Workspace } from './workspace.ts';
import { toBare } from './loose-text.ts';
import { takeStart } from '../encoding/take-text.ts';

/** The catalog of a user's memory. */
export const INDEX_PATH = 'user/index.md';

/** Limits of form. */
export interface EditLimits {
  /** Bytes of a file. */
  maxFileBytes: number;
  /** Whether `add` may create a file. */
  mayCreate: boolean;
}

/** What a guard looks at. */
export interface GuardContext {
  located: LocatedOperation;
  /** What was examined, where it is applied later. */
  seen: OperationView | null;
  /** Memory before the operation, and after it. */
  before: Workspace;
  after: Workspace;
  limits: EditLimits;
  /** When it is; `null` where no line may be removed for having expired. */
  moment: Moment | null;
  /** Whom lines are about; `null` where an operation that was examined before is applied. */
  subjects: Subjects | null;
}

/** A rule of form: why the operation is refused, or `null`. What may take long yields now and then. */
export type Guard = (context: GuardContext) => string | null | Generator<null, string | null>;

const HEADING_LENGTH = 60;
/** Of the files that an entry of the catalog links to, so many characters are looked through. */
const LINKED_CHARACTERS = 1_000_000;
/** New lines may be this much longer than what they are made of. */
const GROWTH = { factor: 3, characters: 400 } as const;

/**
 * The rules by name. An operation that breaks one is dropped, and nobody can override it. They know
 * form; what a line means is the verifier's to judge.
 */
export const GUARDS: Readonly<Record<string, Guard>> = {
  shape({ located, before, after, limits, moment }) {
    const { operation, remove, sources, lines, place } = located;
    const { kind } = operation;
    const isSame = place?.isNewFile !== true && before.changedBy(after).length === 0;
    if (isSame) return 'The operation changes nothing.';
    const isFree = kind === 'add' || kind === 'index';
    if (remove.length === 0 && !isFree) return `${kind} needs a line in "remove".`;
    if (remove.length > 0 && kind === 'add') return 'add removes nothing. Use update.';
    if (lines.length === 0 && ['reword', 'move', 'update', 'add'].includes(kind)) {
      return `${kind} needs new lines in "add".`;
    }
    if (
      sources.length === 0 &&
      (kind === 'supersede' || (kind === 'merge' && lines.length === 0)) &&
      !(isOfItself(located) && haveExpired(remove, moment))
    ) {
      return `${kind} needs a source: the line that holds now.`;
    }
    // The new line can't have a comment: it would hold for ever.
    const mayLoseEnd = lines.length > 0 && (kind === 'reword' || kind === 'merge');
    if (mayLoseEnd && remove.some(({ text }) => readValidUntil(text.trim()).length > 0)) {
      return 'A line would lose its end.';
    }
    if (kind === 'move') {
      const moved = remove.map(({ text }) => text.trim()).join('\n');
      if (moved !== lines.map((line) => line.trim()).join('\n'))
        return 'move keeps lines word for word.';
    }
    if (place?.isNewFile !== true) return null;
    return kind === 'add' && limits.mayCreate && operation.add?.path.endsWith('.md') === true
      ? null
      : 'Only add may create a file, and its name ends in .md.';
  },

  /**
   * What was examined is what is applied: the same lines in the same places. Lines that were followed may
   * stand below another heading, if they moved together, and new lines take their place and say nothing
   * that only the old heading said.
   */
  *place({ located, seen, before }) {
    const view = toView(before, located);
    if (seen === null || isSameView(view, seen)) return null;
    const { operation, place } = located;
    const isInPlace = operation.add === null || place?.isInPlace === true;
    const isMoved = seen.isFollowed === true && isInPlace && isMovedAlike(view, seen);
    const isSaid =
      isMoved && (yield* findNewSpecifics(located, before, [groundsOf(located)])).length === 0;
    return isSaid ? null : 'Its lines stand in another place by now.';
  },

  /** Only files of the memory that is edited, and the catalog only by `index`. */
  scope({ located: { operation, remove, sources }, before }) {
    const changed = [
      ...remove.map(({ path }) => path),
      ...(operation.add === null ? [] : [operation.add.path]),
    ];
    const read = sources.map(({ path }) => path).filter((path) => path !== FACT_PATH);
    if ([...changed, ...read].some((path) => before.below(path) === null))
      return `Only files below ${before.home} may be used.`;
    const isIndex = operation.kind === 'index';
    return changed.every((path) => (path === before.catalog) === isIndex)
      ? null
      : `Only index changes ${before.catalog}, and no other file.`;
  },

  records({ located: { operation, remove, sources }, before }) {
    const paths = [...remove, ...sources]
      .map(({ path }) => path)
      .filter((path) => path !== FACT_PATH);
    if (operation.add !== null) paths.push(operation.add.path);
    return paths.some((path) => before.isRecord(path))
      ? 'Logs and transcripts are never changed or used as a source.'
      : null;
  },

  protected({ located: { remove }, before }) {
    if (remove.some(({ isProtected }) => isProtected))
      return 'A line that it removes is protected.';
    if (remove.some(({ heading }) => heading !== null)) return 'Headings are never removed.';
    const isOrphaned = remove.some((row) =>
      before.childrenOf(row).some((child) => !remove.includes(child)),
    );
    return isOrphaned ? 'Lines that hang below a removed line would stay behind.' : null;
  },

  /** What is protected, and each heading, is the same before and after; new lines are plain lines. */
  structure({ located: { operation, lines, place }, before, after }) {
    const texts = [...lines, operation.add?.heading ?? ''];
    if (texts.some((text) => !isPlainText(text)))
      return 'A new text has an invisible or a control character.';
    const isMark = (text: string) =>
      /<!--|-->|^\s{0,3}(?:---|\.\.\.|===)/.test(text) ||
      /^(?:>|#{1,6}\s|```|~~~)/.test(toBare(text));
    if (texts.some(isMark)) {
      return 'A new text has a mark of a heading, quotation, code block, comment or front matter.';
    }
    for (const path of new Set([
      ...before.changedBy(after),
      operation.add?.path ?? before.catalog,
    ])) {
      const [old, fresh] = [before.markdown(path), after.markdown(path)];
      const kept = (text: typeof old) =>
        text.lines.filter((_line, at) => text.isProtected[at]).join('\n');
      if (kept(old) !== kept(fresh)) return 'Protected text would change.';
      const titles = fresh.headings.filter((title) => title !== null);
      if (place?.isNewFile === true) {
        if (titles.length > 1 || titles.some(({ title }) => title.length > HEADING_LENGTH)) {
          return `A new file has one heading, of at most ${HEADING_LENGTH} characters.`;
        }
        continue;
      }
      const isNew = place?.isNewHeading === true && path === operation.add?.path;
      if (fresh.headingCount !== old.headingCount + (isNew ? 1 : 0))
        return 'A line would become a heading.';
    }
    if (place?.isNewFile !== true && lines.some(isBlank)) return 'A new line is empty.';
    return null;
  },

  limits({ located, limits, after }) {
    const { operation, lines } = located;
    const size = Buffer.byteLength(after.text(operation.add?.path ?? '') ?? '');
    if (size > limits.maxFileBytes) return `A file has at most ${limits.maxFileBytes} bytes.`;
    if ((operation.add?.heading ?? '').length > HEADING_LENGTH) {
      return `A heading has at most ${HEADING_LENGTH} characters.`;
    }
    const most = GROWTH.factor * groundsOf(located).length + GROWTH.characters;
    return lines.join('\n').length > most
      ? 'The new lines are much longer than the lines that they come from.'
      : null;
  },

  /** A secret stays in its file, and no new one comes. */
  secrets({ located }) {
    const { operation, remove, sources } = located;
    const added = newTexts(located).join('\n');
    // What only may be a secret, the user may ask to be remembered.
    const isOwn = (text: string) =>
      [...remove, ...sources].some(
        ({ path, text: known }) =>
          known.includes(text) &&
          (path === operation.add?.path || (path === FACT_PATH && nameSecret(text) === null)),
      );
    return listSecrets(added).every(isOwn)
      ? null
      : 'A secret would leave its file, or a new line has one that no source has.';
  },

  /** Text that speaks to an agent, and that no source has. Names and targets of links are text, too. */
  instructions({ located }) {
    const texts = newTexts(located);
    const spoken = [...texts, texts.join(' ')].flatMap((text) => [text, toSpoken(text)]);
    const toGrounds = () => {
      const grounds = groundsOf(located);
      return `${grounds}\n${toSpoken(grounds)}`;
    };
    return bringsInstruction(spoken, toGrounds)
      ? 'A new text reads like an instruction to an agent, and no source has it.'
      : null;
  },

  /** Each entry of the catalog leads to a file, and no file that is there loses its entry. */
  catalog({ located: { operation, remove, lines }, before, after }) {
    if (operation.kind !== 'index') return null;
    const linked = (texts: readonly string[]) =>
      texts.flatMap((text) => findLinks(text, before.catalog));
    if (lines.some((line) => linked([line]).length !== 1))
      return 'An entry of the catalog has exactly one link.';
    if (linked(lines).some((path) => !after.exists(path)))
      return 'An entry links to a file that does not exist.';
    const left = new Set(linked(after.live(before.catalog).map(({ text }) => text)));
    const lost = linked(remove.map(({ text }) => text)).filter((path) => !left.has(path));
    return lost.some((path) => before.exists(path))
      ? 'A file would lose its entry in the catalog.'
      : null;
  },
};

/** Whether an operation takes lines away for what they say themselves: that they hold no longer. */
export function isOfItself({
  operation: { kind, add },
  sources,
}: Pick<LocatedOperation, 'operation'> & { sources: readonly unknown[] }): boolean {
  return kind === 'supersede' && add === null && sources.length === 0;
}

function haveExpired(rows: LocatedOperation['remove'], moment: Moment | null): boolean {
  return moment !== null && rows.every(({ text }) => listExpired(text.trim(), moment).length > 0);
}

/** Runs the guards; `null` when all let the operation through. Yields now and then. */
export function* findFault(
  context: GuardContext,
  guards: Readonly<Record<string, Guard>> = GUARDS,
): Generator<null, { guard: string; why: string } | null> {
  const { located, before, after } = context;
  for (const path of touchedBy(located.operation)) {
    for (const memory of [before, after]) yield* memory.prepareMarkdown(path);
  }
  for (const [guard, check] of Object.entries(guards)) {
    const why = yield* finish(check(context));
    if (why !== null) return { guard, why };
    yield null;
  }
  return null;
}

/** The texts that an operation brings: lines, a new heading, the name of a new file. */
export function newTexts({ operation: { add }, lines, place }: LocatedOperation): string[] {
  if (add === null || place === null) return [];
  const heading = place.isNewHeading || place.isNewFile ? [add.heading ?? ''] : [];
  const name = place.isNewFile ? [add.path.replace(/^user\/|\.md$/g, '')] : [];
  return [...lines, ...heading, ...name].filter((text) => text !== '');
}

/** The specifics of an operation's new texts that are not in `grounds`. An entry says of its file what stands there. */
export function* findNewSpecifics(
  located: LocatedOperation,
  memory: Workspace,
  grounds: readonly string[],
): Generator<null, Specific[]> {
  const texts = newTexts(located);
  const isEntry = located.operation.kind === 'index';
  const linked: string[] = [];
  let room = LINKED_CHARACTERS;
  for (const link of new Set(isEntry ? findLinks(texts.join('\n'), memory.catalog) : [])) {
    yield null;
    const text = takeStart(memory.text(link) ?? '', room);
    linked.push(link, text);
    room -= text.length;
  }
  const said = isEntry ? texts.map((text) => text.replace(/\]\([^)]*\)/g, ']')) : texts;
  return yield* missingSpecifics(
    said.join('\n'),
    [...grounds, ...linked].join('\n'),
    memory.languages,
  );
}

/** No line ends, no control characters, and none that hide or turn text; emoji and Persian have joiners. */
function isPlainText(text: string): boolean {
  const joined = text.replace(
    /(?<=[\p{Extended_Pictographic}\p{M}\p{Lo}\uFE0F])[\u200c\u200d]/gu,
    '',
  );
  return (
    joined.isWellFormed() &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u.test(joined.replaceAll('\t', ' '))
  );
}

/** What a link or file name says when its signs are spaces. */
function toSpoken(text: string): string {
  let decoded = text;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    // A percent sign that encodes nothing.
  }
  return decoded.replace(/[-_/+.:[\]()]+/g, ' ').replace(/[^\S\n]+/g, ' ');
}
