import { parseForeignJson } from '../encoding/foreign-json.ts';

/** A file to write before the questions are asked. */
export interface SetFile {
  user: string;
  /** Relative to `user/`, or with it. */
  path: string;
  text: string;
}

/** A question, and the files that answer it. */
export interface SetQuestion {
  id: string;
  user: string;
  query: string;
  /** Virtual paths. */
  relevant: string[];
  category: string;
}

/** A data set of questions, and of the memory that they are asked of; without files, it is the service's own. */
export interface QuestionSet {
  files: SetFile[];
  questions: SetQuestion[];
  mistakes: { line: number; message: string }[];
}

const MOST_MISTAKES = 20;
const ROOTS = /^(?:user|shared|spaces)\//;

/**
 * Reads JSON lines: `doc` rows with `user`, `path` and `text`, `query` rows with `user`, `query`, `relevant` and
 * perhaps `id` and `category`; rows of other types are left out.
 */
export function readQuestionSet(text: string): QuestionSet {
  const set: QuestionSet = { files: [], questions: [], mistakes: [] };
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '' || set.mistakes.length >= MOST_MISTAKES) continue;
    const fault = readRow(line, set, at + 1);
    if (fault !== null) set.mistakes.push({ line: at + 1, message: fault });
  }
  return set;
}

/** Adds a row; returns what is wrong with it. */
function readRow(line: string, { files, questions }: QuestionSet, number: number): string | null {
  let row: Record<string, unknown>;
  try {
    row = parseForeignJson(line) as Record<string, unknown>;
  } catch {
    return 'is not JSON';
  }
  if (typeof row !== 'object' || row === null || typeof row['type'] !== 'string') {
    return 'has no type: doc, query or meta';
  }
  const { type, user, path, text, query, relevant } = row;
  if (type !== 'doc' && type !== 'query') return null;
  if (typeof user !== 'string') return 'has no user';
  if (type === 'doc') {
    if (typeof path !== 'string') return 'has no path';
    if (typeof text !== 'string') return 'has no text';
    files.push({ user, path: toVirtual(path), text });
    return null;
  }
  if (typeof query !== 'string' || query.trim() === '') return 'has no query';
  if (!Array.isArray(relevant) || !relevant.every((one) => typeof one === 'string')) {
    return 'has no relevant: a list of paths';
  }
  // A question that nothing answers says nothing of a ranking.
  if (relevant.length === 0) return null;
  questions.push({
    id: typeof row['id'] === 'string' ? row['id'] : String(number),
    user,
    query,
    relevant: [...new Set(relevant.map(toVirtual))],
    category: typeof row['category'] === 'string' ? row['category'] : 'all',
  });
  return null;
}

function toVirtual(path: string): string {
  return ROOTS.test(path) ? path : `user/${path}`;
}
