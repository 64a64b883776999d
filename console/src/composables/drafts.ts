import { type InjectionKey, ref, type Ref } from 'vue';
import { need } from './inject.ts';

/** An edit of a file that is not saved. */
export interface Draft {
  content: string;
  reason: string;
  /** What was edited. */
  base: { content: string; version: number };
}

/** Edits that the lock interrupted. They stay in the page's memory alone, and are never shown locked. */
export interface Drafts {
  readonly count: Readonly<Ref<number>>;
  keep(path: string, draft: Draft): void;
  /** Gives a draft back, once. */
  take(path: string): Draft | null;
}

const draftsKey: InjectionKey<Drafts> = Symbol('drafts');
export { draftsKey };

/** The drafts of this page. */
export const useDrafts = (): Drafts => need(draftsKey);

/** Creates the drafts. The browser asks before it closes a page that holds some. */
export function createDrafts(): Drafts {
  const drafts = new Map<string, Draft>();
  const count = ref(0);
  window.addEventListener('beforeunload', (event) => {
    if (drafts.size > 0) event.preventDefault();
  });
  return {
    count,
    keep(path, draft) {
      drafts.set(path, draft);
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
