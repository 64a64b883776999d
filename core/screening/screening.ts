import type { Settings } from '../config/settings.ts';
import type { Screener } from '../contracts/screener.ts';
import { toLineNumbers } from '../encoding/line-numbers.ts';
import { MemoryError } from '../errors.ts';
import { diffBlocks } from '../history/delta/blocks.ts';
import { commonPrefix, commonSuffix } from '../history/delta/common-ends.ts';
import { detect, type Detector } from './detect.ts';
import type { Finding, Policy } from './finding.ts';
import { readOwnPatterns } from './own-patterns.ts';

/** A line in which something was replaced, or for which a write was refused. */
export interface ScreenedLine {
  /** From 1, of the content that was given. */
  line: number;
  /** As in `card`. */
  kind: string;
}

/** What is stored of a text. */
export interface Screened {
  content: string;
  /** What was replaced by `[card …1234]` or `[secret]`. */
  masked: ScreenedLine[];
}

type ScreeningOutcome = 'masked' | 'refused';

/** Stops what must not be stored, by the settings of screening. */
export interface Screening {
  /**
   * Masks what a new content adds to the one before. Throws `CONTENT_REFUSED`, which names lines and
   * kinds, never the text.
   */
  admit(change: { before: string | null; content: string; path: string }): Screened;
  /** The same for a text that is no file; `field` is its name for the error. */
  admitText(text: string, field: string): Screened;
  /**
   * Throws `CONTENT_REFUSED` for a new path that `mask` or `refuse` would stop: a masked path would be
   * another file. The error names the path with the secret masked, by `toPath`.
   */
  admitPath(path: string, toPath: (path: string) => string): void;
  /** Counts a write in which something was masked. */
  countMasked(lines: readonly ScreenedLine[]): void;
  /** Counts a write that failed with this error, if screening refused it. */
  countRefused(error: unknown): void;
  /** The counted writes by outcome and kind, for the metrics. */
  counts(): readonly { outcome: ScreeningOutcome; kind: string; writes: number }[];
  /** What to flag in a content that is stored: nothing where a policy is off. */
  find(text: string): readonly Finding[];
  /** Adds a plugin's detector. Returns what takes it away again. */
  add(screener: Screener): () => void;
}

/** Lines in front of an added line, and behind it, that are looked at with it. */
const LINES_AROUND = 3;
const NAMED_LINES = 20;

/** Makes the screening of a service. Throws a `ConfigError` for own patterns that can't be used. */
export function createScreening({ screen }: Pick<Settings, 'screen'>): Screening {
  const policies = ['secrets', 'personal'] as const;
  const are = (...wanted: readonly string[]) =>
    new Set<Policy>(policies.filter((policy) => wanted.includes(screen[policy])));
  const stopped = are('mask', 'refuse');
  const flagged = are('warn', 'mask', 'refuse');
  const writes = { masked: new Map<string, number>(), refused: new Map<string, number>() };
  const detectors: Detector[] = screen.patterns === null ? [] : readOwnPatterns(screen.patterns);

  function stop(text: string, findings: readonly Finding[], place: Place): Screened {
    if (findings.length === 0) return { content: text, masked: [] };
    const refused = findings.filter(({ policy }) => screen[policy] === 'refuse');
    if (refused.length > 0) throw contentRefused(text, refused, place);
    return { content: mask(text, findings), masked: toLines(text, findings) };
  }

  return {
    admit({ before, content, path }) {
      if (stopped.size === 0 || before === content) return { content, masked: [] };
      const { from, to } = findChanged(before ?? '', content);
      const found = detect(content.slice(from, to), stopped, detectors);
      if (found.length === 0) return { content, masked: [] };
      const moved = found.map((each) => ({
        ...each,
        start: each.start + from,
        end: each.end + from,
      }));
      return stop(content, toAdded(before ?? '', content, moved), { path });
    },
    admitText(text, field) {
      if (stopped.size === 0) return { content: text, masked: [] };
      return stop(text, detect(text, stopped, detectors), { field });
    },
    admitPath(path, toPath) {
      if (stopped.size === 0) return;
      const findings = detect(path, stopped, detectors);
      if (findings.length === 0) return;
      const shown = toPath(mask(path, findings));
      throw contentRefused(path, findings, { field: 'path', path: shown });
    },
    countMasked: (lines) => addKinds(writes.masked, lines),
    countRefused(error) {
      if (!(error instanceof MemoryError) || error.code !== 'CONTENT_REFUSED') return;
      addKinds(writes.refused, (error.details?.['refused'] ?? []) as readonly ScreenedLine[]);
    },
    counts: () =>
      (['masked', 'refused'] as const).flatMap((outcome) =>
        [...writes[outcome]].map(([kind, count]) => ({ outcome, kind, writes: count })),
      ),
    find: (text) => (flagged.size === 0 ? [] : detect(text, flagged, detectors)),
    add(screener) {
      const detector = toDetector(screener);
      detectors.push(detector);
      return () => void detectors.splice(detectors.indexOf(detector), 1);
    },
  };
}

/** The part of a content that differs, with some lines around it: what leads to a secret may be there already. */
function findChanged(before: string, content: string): { from: number; to: number } {
  // A private key may begin far above.
  if (before === '' || content.includes('PRIVATE KEY')) return { from: 0, to: content.length };
  const most = Math.min(before.length, content.length);
  const prefix = commonPrefix(before, 0, content, 0, most);
  const suffix = commonSuffix(before, before.length, content, content.length, most - prefix);
  let from = prefix;
  for (let lines = 0; lines <= LINES_AROUND && from > 0; lines += 1) {
    from = content.lastIndexOf('\n', from - 1);
    if (from === -1) from = 0;
  }
  let to = content.length - suffix;
  for (let lines = 0; lines <= LINES_AROUND && to < content.length; lines += 1) {
    const end = content.indexOf('\n', to);
    to = end === -1 ? content.length : end + 1;
  }
  return { from, to };
}

/** The parts of findings that are in added lines. */
function toAdded(before: string, content: string, findings: readonly Finding[]): Finding[] {
  const added = diffBlocks(before, content).blocks.filter(
    ({ newerFrom, newerTo }) => newerTo > newerFrom,
  );
  return findings.flatMap((finding) =>
    added.flatMap(({ newerFrom, newerTo }) => {
      const start = Math.max(finding.start, newerFrom);
      const end = Math.min(finding.end, newerTo);
      return end > start && content.slice(start, end).trim() !== ''
        ? [{ ...finding, start, end }]
        : [];
    }),
  );
}

/** Replaces what was found; a masked text has nothing left to be found. */
function mask(text: string, findings: readonly Finding[]): string {
  let masked = '';
  let at = 0;
  for (const { kind, policy, start, end } of findings) {
    const found = text.slice(start, end);
    // The end of the last line stays, so that the next line stays one.
    const lineEnd = /\r?\n$/.exec(found)?.[0] ?? '';
    masked += text.slice(at, start) + toMask({ kind, policy }, found) + lineEnd;
    at = end;
  }
  return masked + text.slice(at);
}

const MASKS: Readonly<Record<string, string>> = {
  email: '[e-mail]',
  phone: '[phone]',
  national_id: '[national id]',
};

function toMask({ kind }: Pick<Finding, 'kind' | 'policy'>, found: string): string {
  if (kind !== 'card') return MASKS[kind] ?? '[secret]';
  return `[card …${found.replaceAll(/\P{Nd}/gu, '').slice(-4)}]`;
}

function toLines(text: string, findings: readonly Finding[]): ScreenedLine[] {
  const lines: ScreenedLine[] = [];
  const numbers = toLineNumbers(
    text,
    findings.map(({ start }) => start),
  );
  for (const [index, { kind }] of findings.entries()) {
    const line = numbers[index] as number;
    const last = lines.at(-1);
    if (last?.line !== line || last.kind !== kind) lines.push({ line, kind });
  }
  return lines;
}

/** Where a refused text stands: a line of a file, or a field. */
type Place = { path: string } | { field: string; path?: string };

function contentRefused(text: string, findings: readonly Finding[], place: Place): MemoryError {
  const lines = toLines(text, findings);
  const [first] = lines;
  const name = findings[0]?.name ?? 'a secret';
  const where = 'field' in place ? `The ${place.field} has` : `Line ${first?.line ?? 1} has`;
  const more =
    lines.length > 1
      ? ` So ${lines.length === 2 ? 'does another line' : `do ${lines.length - 1} other lines`}.`
      : '';
  return new MemoryError(
    'CONTENT_REFUSED',
    `${where} what looks like ${name}: it is not stored.${more}`,
    {
      details: { ...place, refused: lines.slice(0, NAMED_LINES) },
    },
  );
}

function addKinds(writes: Map<string, number>, lines: readonly ScreenedLine[]): void {
  for (const kind of new Set(lines.map((line) => line.kind))) {
    writes.set(kind, (writes.get(kind) ?? 0) + 1);
  }
}

/** Whether a write was refused for its path: a row or a log must not name that path. */
export function isPathRefused(error: unknown): boolean {
  return (
    error instanceof MemoryError &&
    error.code === 'CONTENT_REFUSED' &&
    error.details?.['field'] === 'path'
  );
}

const KIND = /^[a-z][a-z0-9_]{0,39}$/;

/** Checks a plugin's detector when it is added, and what it finds each time. */
function toDetector(screener: Screener): Detector {
  const { kind, policy } = screener;
  if (!KIND.test(kind)) {
    throw new MemoryError(
      'INVALID_REQUEST',
      `A screener's kind is 1 to 40 of a-z 0-9 _, the first a letter; not ${JSON.stringify(kind)}.`,
    );
  }
  if ((policy as string) !== 'secrets' && (policy as string) !== 'personal') {
    throw new MemoryError(
      'INVALID_REQUEST',
      `The policy of the screener ${kind} must be secrets or personal.`,
    );
  }
  const name = `a ${kind.replaceAll('_', ' ')}`;
  return {
    policy,
    find(text) {
      let found: readonly { start: number; end: number }[];
      try {
        found = screener.screen(text);
      } catch (error) {
        throw new MemoryError('INTERNAL', `The screener ${kind} failed.`, { cause: error });
      }
      return found.map(({ start, end }) => {
        const fits =
          Number.isInteger(start) &&
          Number.isInteger(end) &&
          start >= 0 &&
          end > start &&
          end <= text.length;
        if (!fits)
          throw new MemoryError(
            'INTERNAL',
            `The screener ${kind} named a place that is not in the text.`,
          );
        return { kind, name, policy, start, end };
      });
    },
  };
}
