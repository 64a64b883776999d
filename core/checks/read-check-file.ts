import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { parseChecks } from './check.ts';

/**
 * Reads a file of checks, YAML or JSON, and lists all its mistakes, each with its line:
 * `12: name is missing`. The value is what the admin API takes.
 */
export function readCheckFile(text: string): {
  value: object;
  names: string[];
  mistakes: string[];
} {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
  });
  const lineOf = (offset: number) => lines.linePos(offset).line;
  if (document.errors.length > 0) {
    const mistakes = document.errors.map(({ pos, message }) => `${lineOf(pos[0])}: ${message}`);
    return { value: {}, names: [], mistakes };
  }
  // An alias may stand for itself many times over.
  const value = document.toJS({ maxAliasCount: 100 }) as object;
  const { checks, mistakes } = parseChecks(value);
  return {
    value,
    names: checks.map(({ name }) => name),
    mistakes: mistakes.map(({ path, message }) => {
      const { line, label } = locate(path);
      return `${line}: ${label === '' ? '' : `${label} `}${message}`;
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
