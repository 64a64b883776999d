import { stayingSources } from '../operations.ts';
import type { Candidate } from '../plan.ts';
import { lineAt } from '../snapshot-file.ts';
import { contains, factsIn, isMadeOf, tells } from '../text/sameness.ts';
import {
  isConnector,
  isEmptyWord,
  isSameStatement,
  joinStatements,
  listWords,
  parseMark,
  toStatement,
  type Part,
} from '../text/statement.ts';
import { groundsOfEntry, parseEntry } from './catalog.ts';
import { isInvented } from './invention.ts';
import { isReplacedIn } from './replacement.ts';

/** What comes says what its lines say, neither more nor less: in their words and in their order. */
export function checkMeaning(candidate: Candidate): string | null {
  const { operation, removed, added } = candidate;
  if (operation.kind === 'move') return null;
  const boxes = new Set([...removed, ...added].map((line) => parseMark(line).box?.toLowerCase()));
  if (added.length > 0 && boxes.size > 1) return 'a task would change its state';
  switch (operation.kind) {
    case 'merge':
      return checkMerge(candidate);
    case 'reword':
      return checkReword(candidate);
    case 'supersede':
      return checkReplacement(candidate);
    case 'index':
      return checkEntries(candidate);
  }
}

function checkReword(candidate: Candidate): string | null {
  const { removed, added } = candidate;
  const before = joinStatements(removed.map(toStatement));
  const after = joinStatements(added.map((line) => sourced(candidate, toStatement(line))));
  const isSame = isSameStatement(before, after) && !movesWords(candidate);
  return isSame ? null : 'it would not say the same as before';
}

/** Whether a word that says nothing, as an article, came from elsewhere: what goes, goes. */
function movesWords(candidate: Candidate): boolean {
  const before = listWords(candidate.removed.join('\n'));
  let at = 0;
  for (const word of listWords(candidate.added.join('\n'))) {
    const isJoin = isConnector(word) && !isEmptyWord(word);
    if (isJoin || isInvented(candidate, word)) continue;
    at = before.indexOf(word, at) + 1;
    if (at === 0) return true;
  }
  return false;
}

/** Each line that goes is told by one that comes or stays; what comes is made of nothing else. */
function checkMerge(candidate: Candidate): string | null {
  const { operation, snapshot, removed, added } = candidate;
  const staying = stayingSources(operation).map((ref) => toStatement(lineAt(snapshot, ref) ?? ''));
  const gone = removed.map(toStatement);
  const facts = [...gone, ...staying];
  const told = new Set<number>();
  const coming = added.map((line) => sourced(candidate, toStatement(line)));
  for (const statement of coming) {
    const found = factsIn(statement, facts);
    if (found === null) return 'it says something that none of its lines says';
    found.forEach((index) => told.add(index));
  }
  const isKept = gone.every(
    (fact, index) =>
      told.has(index) ||
      [...told].some((it) => isSameStatement(facts[it] ?? [], fact)) ||
      [...coming, ...staying].some((other) => tells(other, fact)),
  );
  return isKept ? null : 'a line that goes says something that what replaces it does not';
}

/** What is kept of a superseded line is that line, with the new value and the old one behind it. */
function checkReplacement(candidate: Candidate): string | null {
  const { operation, snapshot, removed, added } = candidate;
  const newer = stayingSources(operation).map((ref) => toStatement(lineAt(snapshot, ref) ?? ''));
  const older = removed.map(toStatement);
  for (const line of added) {
    const statement = sourced(candidate, toStatement(line));
    const isReplaced = older.some((old) => newer.some((it) => isReplacedIn(statement, old, it)));
    if (!isReplaced) return 'it is not the old line with its new value, and the old one behind it';
  }
  return null;
}

/** An entry names its file, says headings or whole lines of it, and all that was said of it before. */
function checkEntries(candidate: Candidate): string | null {
  for (const line of candidate.added) {
    const entry = parseEntry(line);
    if (entry === null) continue;
    const { names, headings, lines, before } = groundsOfEntry(candidate, entry.path);
    const label = sourced(candidate, toStatement(entry.label));
    const about = sourced(candidate, toStatement(entry.about));
    const titles = [...names, ...headings].map(toStatement);
    const known = before.flatMap((it) => [toStatement(it.label), toStatement(it.about)]);
    const isNamed = [...names, ...before.map((it) => it.label)].some((name) =>
      isSameStatement(label, toStatement(name)),
    );
    if (!isNamed && label.length > 0) return 'an entry has a name that its file has not';
    // A line below a heading of the list would be read as what stands under it.
    const facts = [...lines, ...before.map((it) => it.about)].map(toStatement);
    if (!isMadeOf(about, titles) && !isMadeOf(about, facts)) {
      return 'an entry says what no line of its file says';
    }
    const isKept = known.every(
      (part) => contains(label, part) || contains(about, part) || isMadeOf(part, titles),
    );
    if (!isKept) return 'an entry would say less of its file than before';
  }
  return null;
}

/** Without words that no source has: those are another check's. */
function sourced(candidate: Candidate, statement: readonly Part[]): Part[] {
  const known = statement.filter(({ word }) => word === null || !isInvented(candidate, word));
  return joinStatements([known]);
}
