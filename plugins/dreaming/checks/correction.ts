import type { LineRef } from '../operations.ts';
import { stayingSources } from '../operations.ts';
import { lineAt } from '../snapshot-file.ts';
import type { Candidate } from '../plan.ts';
import { contentStems, tokenise } from '../text/words.ts';

const MARKS = new Set(
  (
    'correction corrected corrects actually now longer instead changed change changes moved switched ' +
    'replaced replaces renamed updated update wrong mistake formerly previously anymore since former was ' +
    'became becomes quit left stopped korrektur korrigiert jetzt nun mehr stattdessen geändert umgezogen ' +
    'gewechselt falsch früher ehemals seit correction corrigé désormais maintenant plus changé déménagé ' +
    'remplacé ancien corrección corregido ahora ya cambió cambiado mudó reemplazado antes correzione ora ' +
    'adesso più cambiato trasferito correção agora mudou correctie nu gewijzigd verhuisd теперь больше ' +
    'исправление переехал'
  ).split(' '),
);
const UNCASED_MARK = /更正|现在|現在|改为|改成|不再|搬到|訂正|変更|이제|정정|变更|變更/u;

/** What supersedes is newer than what goes, speaks of the same, and says that it is a correction. */
export function checkCorrection({ operation, snapshot, removed }: Candidate): string | null {
  if (operation.kind !== 'supersede') return null;
  const sources = stayingSources(operation);
  for (const [index, old] of operation.remove.entries()) {
    const newer = sources.filter((ref) => isNewer(snapshot, ref, old));
    if (newer.length === 0) return 'what supersedes is not newer';
    const line = removed[index] ?? '';
    const isCorrected = newer.some((ref) => corrects(lineAt(snapshot, ref) ?? '', line));
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

function corrects(newer: string, older: string): boolean {
  const words = tokenise(newer).map(({ text }) => text.toLowerCase());
  if (!words.some((word) => MARKS.has(word)) && !UNCASED_MARK.test(newer)) return false;
  const subject = new Set(contentStems(older));
  return contentStems(newer).some((stem) => subject.has(stem));
}
