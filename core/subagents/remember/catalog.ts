import {
  type AppliedEdits,
  applyEdits,
  examine,
  type ExaminedOperation,
  type ExamineOptions,
} from '../../edits/engine.ts';
import { INDEX_PATH } from '../../edits/guards.ts';
import type { EditOperation } from '../../edits/operations.ts';
import type { EditedMemory } from '../../edits/edited-memory.ts';
import { findLinks } from '../../files/links.ts';
import { listSections } from '../../markdown/sections.ts';
import { readStructure } from '../../markdown/structure.ts';
import { belowUser } from '../../files/paths.ts';

/**
 * Carries out operations. A file that they create comes into the catalog where there is one, whether or
 * not the model thought of it.
 */
export async function applyWithCatalog(
  memory: EditedMemory,
  accepted: readonly ExaminedOperation[],
  options: ExamineOptions,
): Promise<AppliedEdits> {
  const result = await applyEdits(memory, accepted, options);
  const index =
    result.files.find(({ path }) => path === INDEX_PATH)?.after ??
    memory.files.find(({ path }) => path === INDEX_PATH)?.content;
  if (index === undefined) return result;
  const linked = findLinks(index, INDEX_PATH);
  const entries = result.files
    .filter(({ before, path }) => before === null && !linked.includes(path))
    .map(({ path, after }): EditOperation => {
      const name = belowUser(path);
      const [heading] = listSections(readStructure(after)).filter(({ title }) => title !== '');
      const title = heading?.title ?? toTitle(name);
      const line = `- [${title.replace(/[[\]()]/g, '')}](${toTarget(name)})`;
      return {
        number: 0,
        kind: 'index',
        reason: '',
        remove: [],
        add: { path: INDEX_PATH, heading: null, lines: [line] },
        sources: [],
      };
    });
  if (entries.length === 0) return result;
  const operations = [...accepted.map(({ operation }) => operation), ...entries];
  const all = await examine(memory, operations, options);
  const own = all.slice(accepted.length).filter(({ fault }) => fault === null);
  const whole = await applyEdits(memory, [...result.applied, ...own], options);
  return { ...whole, applied: result.applied, stale: result.stale };
}

/** A path as the target of a link: what would end it, or part it, is encoded. */
function toTarget(path: string): string {
  return path.replaceAll(/[\s()#[\]]/gu, (character) => {
    const encoded = encodeURIComponent(character);
    return encoded === character ? `%${character.charCodeAt(0).toString(16)}` : encoded;
  });
}

function toTitle(name: string): string {
  const base = name
    .slice(name.lastIndexOf('/') + 1)
    .replace(/\.md$/, '')
    .replaceAll(/[-_]/g, ' ');
  return base.charAt(0).toUpperCase() + base.slice(1);
}
