import { useQueries, useQueryClient } from '@tanstack/vue-query';
import { computed, type ComputedRef, ref, type Ref } from 'vue';
import type { AdminFile, AdminFolder } from '../../../core/contracts/admin.ts';
import { useApi } from './session.ts';

/** A visible row of the tree. */
export type TreeRow =
  | {
      kind: 'folder';
      id: string;
      depth: number;
      label: string;
      folder: AdminFolder;
      isOpen: boolean;
    }
  | { kind: 'file'; id: string; depth: number; label: string; file: AdminFile }
  | { kind: 'more'; id: string; depth: number; label: string; parent: string }
  | { kind: 'note'; id: string; depth: number; label: string };

/** The tree of memory files. A folder is loaded when it is opened, page by page. */
export interface FileTree {
  readonly rows: ComputedRef<TreeRow[]>;
  readonly isLoading: ComputedRef<boolean>;
  readonly error: ComputedRef<Error | null>;
  readonly isEmpty: ComputedRef<boolean>;
  isOpen(folder: string): boolean;
  toggle(folder: string): void;
  /** Opens every folder above a path, and loads them as far as the path. */
  reveal(path: string): void;
  loadMore(folder: string): void;
  refresh(): void;
}

/** The largest page of the API. */
const PAGE = 500;
const ROOT = '';

/** Creates the tree with its roots. */
export function useFileTree(): FileTree {
  const api = useApi();
  const queryClient = useQueryClient();
  const opened: Ref<readonly string[]> = ref([ROOT]);
  const pages = new Map<string, number>();
  const loadingMore = new Set<string>();
  /** A path in each folder that is loaded in any case. */
  const goals = new Map<string, string>();

  const queries = useQueries({
    queries: computed(() =>
      opened.value.map((prefix) => ({
        queryKey: ['folder', prefix],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          readFolder(prefix, pages.get(prefix) ?? 1, signal),
      })),
    ),
  });

  async function readFolder(prefix: string, count: number, signal: AbortSignal) {
    const items: (AdminFile | AdminFolder)[] = [];
    let cursor: string | null = null;
    const goal = goals.get(prefix) ?? '';
    let isReached = false;
    let page = 0;
    for (; page < count || !isReached; page += 1) {
      const answer: Awaited<ReturnType<typeof api.folder>> = await api.folder(
        prefix,
        { limit: PAGE, cursor },
        signal,
      );
      items.push(...answer.items);
      cursor = answer.nextCursor;
      // The items come by path: what is past the goal is not there.
      isReached = (items.at(-1)?.path ?? '') >= goal;
      if (cursor === null) break;
    }
    pages.set(prefix, Math.max(count, page));
    return { items, cursor };
  }

  /** Adds the next page to what is there: reading all of them anew makes a long folder slow. */
  async function readMore(folder: string) {
    const queryKey = ['folder', folder];
    const loaded = queryClient.getQueryData<Awaited<ReturnType<typeof readFolder>>>(queryKey);
    if (loaded === undefined || loaded.cursor === null || loadingMore.has(folder)) return;
    loadingMore.add(folder);
    try {
      const next = await api.folder(folder, { limit: PAGE, cursor: loaded.cursor });
      // If the list was reloaded meanwhile, the page no longer fits it.
      if (queryClient.getQueryData(queryKey) !== loaded) return;
      pages.set(folder, (pages.get(folder) ?? 1) + 1);
      queryClient.setQueryData(queryKey, {
        items: [...loaded.items, ...next.items],
        cursor: next.nextCursor,
      });
    } finally {
      loadingMore.delete(folder);
    }
  }

  const contents = computed(
    () => new Map(opened.value.map((prefix, index) => [prefix, queries.value[index]])),
  );

  const rows = computed(() => {
    const found: TreeRow[] = [];
    const add = (prefix: string, depth: number): void => {
      const content = contents.value.get(prefix);
      if (content?.data === undefined) {
        const label = content?.error ? content.error.message : 'Loading…';
        if (prefix !== ROOT) found.push({ kind: 'note', id: `${prefix}#`, depth, label });
        return;
      }
      for (const item of content.data.items) {
        const label = nameOf(item.path);
        if ('folder' in item) {
          const isOpen = opened.value.includes(item.path);
          found.push({ kind: 'folder', id: item.path, depth, label, folder: item, isOpen });
          if (isOpen) add(item.path, depth + 1);
        } else found.push({ kind: 'file', id: item.path, depth, label, file: item });
      }
      if (content.data.cursor !== null) {
        found.push({ kind: 'more', id: `${prefix}+`, depth, label: 'Load more…', parent: prefix });
      }
    };
    add(ROOT, 0);
    return found;
  });

  const root = computed(() => contents.value.get(ROOT));
  return {
    rows,
    isLoading: computed(() => root.value?.isPending ?? true),
    error: computed(() => root.value?.error ?? null),
    isEmpty: computed(() => root.value?.data?.items.length === 0),
    isOpen: (folder) => opened.value.includes(folder),
    toggle(folder) {
      opened.value = opened.value.includes(folder)
        ? opened.value.filter((one) => one !== folder)
        : [...opened.value, folder];
    },
    reveal(path) {
      const segments = path.split('/').slice(0, -1);
      const above = segments.map((_, index) => `${segments.slice(0, index + 1).join('/')}/`);
      for (const [index, folder] of [ROOT, ...above].entries()) {
        const child = above[index] ?? path;
        const loaded = contents.value.get(folder)?.data;
        goals.set(folder, child);
        const isMissing =
          (loaded?.cursor ?? null) !== null && (loaded?.items.at(-1)?.path ?? '') < child;
        if (isMissing) void queryClient.invalidateQueries({ queryKey: ['folder', folder] });
      }
      opened.value = [...new Set([...opened.value, ...above])];
    },
    loadMore(folder) {
      // The row that asks for it stays when it fails; a reload says why.
      readMore(folder).catch(() => queryClient.invalidateQueries({ queryKey: ['folder', folder] }));
    },
    refresh: () => void queryClient.invalidateQueries({ queryKey: ['folder'] }),
  };
}

function nameOf(path: string): string {
  const bare = path.endsWith('/') ? path.slice(0, -1) : path;
  return bare.slice(bare.lastIndexOf('/') + 1);
}
