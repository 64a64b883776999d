import { type InjectionKey, ref, type Ref } from 'vue';
import type { AdminFileContent } from '../../../core/contracts/admin.ts';
import { need } from './inject.ts';

/** What was typed and is not saved. */
export interface Draft {
  path: string;
  content: string;
  reason: string;
  /** What was edited; version 0 for a new file. */
  base: { content: string; version: number };
  /** The open conflict with what somebody else wrote, and the merge as far as it was edited. */
  conflict?: { theirs: AdminFileContent; merge: string | null };
}

/** Drafts that the lock interrupted. They stay in the page's memory alone, and are never shown locked. */
export interface Drafts {
  readonly count: Readonly<Ref<number>>;
  keep(draft: Draft): void;
  /** Gives the draft of a file back, once; `null` for that of a new file. */
  take(path: string | null): Draft | null;
}

const draftsKey: InjectionKey<Drafts> = Symbol('drafts');
export { draftsKey };

/** The drafts of this page. */
export const useDrafts = (): Drafts => need(draftsKey);

/** Creates the drafts. The browser asks before it closes a page that holds some. */
export function createDrafts(): Drafts {
  const drafts = new Map<string | null, Draft>();
  const count = ref(0);
  window.addEventListener('beforeunload', (event) => {
    if (drafts.size > 0) event.preventDefault();
  });
  return {
    count,
    keep(draft) {
      drafts.set(draft.base.version === 0 ? null : draft.path, draft);
      count.value = drafts.size;
    },
    take(path) {
      const draft = drafts.get(path) ?? null;
      drafts.delete(path);
      count.value = drafts.size;
      return draft;
    },
  };
}
