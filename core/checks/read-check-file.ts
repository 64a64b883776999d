import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { type Check, type CheckMistake, parseChecks } from './check.ts';

/** A mistake in a file of checks: its line, from 1, and what is wrong with the field or check there. */
export interface LineMistake extends CheckMistake {
  line: number;
}

/** What a file of checks says. */
export interface CheckFile {
  /** As the admin API takes it. */
  value: object;
  checks: Check[];
  /** The line of each check's name. */
  lines: number[];
  mistakes: LineMistake[];
}

/** Reads a file of checks, YAML or JSON, and lists all its mistakes. */
export function readCheckFile(text: string): CheckFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
  });
  const lineOf = (offset: number) => lines.linePos(offset).line;
  if (document.errors.length > 0) {
    const mistakes = document.errors.map(({ pos, message }) => ({
      path: '',
      message,
      line: lineOf(pos[0]),
    }));
    return { value: {}, checks: [], lines: [], mistakes };
  }
  // An alias may stand for itself many times over.
  const value = document.toJS({ maxAliasCount: 100 }) as object;
  const { checks, mistakes } = parseChecks(value);
  return {
    value,
    checks,
    lines: mistakes.length > 0 ? [] : checks.map((_, at) => locate(`/checks/${at}/name`).line),
    mistakes: mistakes.map(({ path, message }) => {
      const { line, label } = locate(path);
      return { path, line, message: `${label === '' ? '' : `${label} `}${message}` };
    }),
  };

  /** The key of a field, or the item of a list. */
  function findNode(keys: readonly string[]): unknown {
    const around = keys.length === 1 ? document.contents : document.getIn(keys.slice(0, -1), true);
    if (!isMap(around)) return document.getIn(keys, true);
    return around.items.find(({ key }) => isScalar(key) && key.value === keys.at(-1))?.key;
  }

  /** The line of what a JSON pointer names, or else of what is around it. */
  function locate(pointer: string): { line: number; label: string } {
    const keys = pointer
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.at(-1) ?? '';
    const label = /^\d+$/.test(last) ? `check ${Number(last) + 1}` : last;
    for (let length = keys.length; length > 0; length -= 1) {
      const node = findNode(keys.slice(0, length));
      if (isNode(node) && Array.isArray(node.range)) return { line: lineOf(node.range[0]), label };
    }
    return { line: 1, label };
  }
}
