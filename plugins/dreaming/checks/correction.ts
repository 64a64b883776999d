import { stayingSources, type LineRef } from '../operations.ts';
import { lineAt } from '../snapshot-file.ts';
import type { Candidate } from '../plan.ts';
import { contentStems, tokenise } from '../text/words.ts';

/** Words that say that something was corrected. */
const PLAIN_MARKS = new Set(
  (
    'correction corrected corrects longer moved switched replaced replaces renamed wrong mistake formerly ' +
    'previously anymore former became becomes quit stopped korrektur korrigiert umgezogen gewechselt falsch ' +
    'ehemals corrigé désormais déménagé remplacé ancien corrección corregido cambió mudó reemplazado ' +
    'correzione trasferito correção mudou correctie gewijzigd verhuisd исправление переехал'
  ).split(' '),
);
const PLAIN_UNCASED_MARK = /更正|改为|改成|不再|搬到|訂正|変更|정정|变更|變更/u;
/** Words that are said of much else, too: then the two lines must be much alike. */
const VAGUE_MARKS = new Set(
  (
    'actually now instead change changed changes updated update left jetzt nun mehr stattdessen geändert ' +
    'früher seit maintenant changé ahora ya cambiado antes adesso ora più cambiato agora nu теперь больше'
  ).split(' '),
);
const VAGUE_UNCASED_MARK = /现在|現在|이제/u;

/** Shares of a line's words that must stand in what supersedes it. */
const LEAST_SHARE = { plain: 2 / 5, vague: 3 / 4 } as const;
/** Of a line of so few words each one says what it is about. */
const FEW_WORDS = 2;

/** Whether a word, in lower case, is said where something is corrected. */
export function isCorrectionMark(word: string): boolean {
  return PLAIN_MARKS.has(word) || VAGUE_MARKS.has(word);
}

/** What supersedes is newer than what goes, speaks of the same, and says that it is a correction. */
export function checkCorrection({ operation, snapshot, removed, added }: Candidate): string | null {
  if (operation.kind !== 'supersede') return null;
  const sources = stayingSources(operation);
  for (const [index, old] of operation.remove.entries()) {
    const newer = sources.filter((ref) => isNewer(snapshot, ref, old));
    if (newer.length === 0) return 'what supersedes is not newer';
    const line = removed[index] ?? '';
    const isCorrected = newer.some((ref) => corrects(lineAt(snapshot, ref) ?? '', added, line));
    if (!isCorrected) return 'what supersedes does not say that it corrects this';
  }
  return null;
}

/** By the revisions that brought the lines; lines of one write by their order in one file. */
function isNewer(snapshot: Candidate['snapshot'], newer: LineRef, older: LineRef): boolean {
  const at = snapshot.files.get(newer.path)?.times[newer.line - 1];
  const before = snapshot.files.get(older.path)?.times[older.line - 1];
  if (at === undefined || before === undefined) return false;
  return at > before || (at === before && newer.path === older.path && newer.line > older.line);
}

/** What is added may tell what was before: "Lives in Madrid (until 2025: Berlin)". */
function corrects(newer: string, added: readonly string[], older: string): boolean {
  const words = tokenise(newer).map(({ text }) => text.toLowerCase());
  const isPlain =
    words.some((word, at) => PLAIN_MARKS.has(word) && !isLasting(words, at)) ||
    PLAIN_UNCASED_MARK.test(newer);
  const isVague = words.some((word) => VAGUE_MARKS.has(word)) || VAGUE_UNCASED_MARK.test(newer);
  if (!isPlain && !isVague) return false;
  const subject = new Set(contentStems(older));
  const said = new Set(contentStems(newer));
  const told = new Set([...said, ...contentStems(added.join('\n'))]);
  const count = (stems: ReadonlySet<string>) => [...subject].filter((it) => stems.has(it)).length;
  // What is kept of the older line tells its words, so it is the newer one that must speak of them.
  const least = added.length === 0 ? 1 : Math.max(1, (subject.size - 1) / 2);
  if (count(said) < least) return false;
  if (subject.size <= FEW_WORDS) return count(told) === subject.size;
  return count(told) >= LEAST_SHARE[isPlain ? 'plain' : 'vague'] * subject.size;
}

/** `No longer` corrects; `ran longer` does not. */
function isLasting(words: readonly string[], at: number): boolean {
  return words[at] === 'longer' && !['no', 'any'].includes(words[at - 1] ?? '');
}
