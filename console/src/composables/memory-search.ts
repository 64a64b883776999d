import { computed, type ComputedRef, onScopeDispose, ref, type Ref, shallowRef } from 'vue';
import type {
  AdminFile,
  AdminSpace,
  AdminUser,
  FoundFile,
  FoundVersions,
} from '../../../core/contracts/admin.ts';
import type { OwnerFilter } from './filters.ts';
import { useApi } from './session.ts';

/** What is looked for, and where. */
export interface MemorySearchRequest {
  text: string;
  owner: OwnerFilter;
  /**
   * Look for the exact text in all versions instead. It may be a secret, so nothing is asked for that has
   * the text in an address: no names, and no other forms of words.
   */
  inHistory: boolean;
}

/** A search over names, paths and contents of all memory, or over all of its versions. */
export interface MemorySearch {
  /** Best first; of more than {@link MOST_FILES}, the best. */
  readonly files: Ref<readonly FoundFile[]>;
  readonly versions: Ref<readonly FoundVersions[]>;
  readonly users: Ref<readonly AdminUser[]>;
  readonly spaces: Ref<readonly AdminSpace[]>;
  readonly paths: Ref<readonly AdminFile[]>;
  /** All that was found and looked at so far, also what is not kept. */
  readonly totals: Ref<Totals>;
  readonly state: Ref<'idle' | 'searching' | 'stopped' | 'done'>;
  readonly error: Ref<Error | null>;
  readonly isSearching: ComputedRef<boolean>;
  start(request: MemorySearchRequest): void;
  stop(): void;
}

interface Totals {
  files: number;
  lines: number;
  places: number;
  searchedFiles: number;
  searchedVersions: number;
  bytes: number;
}

/** Found files that are kept, and places in the history. */
export const MOST_FILES = 200;
/** Names of each kind that are shown. */
export const MOST_NAMES = 20;
const PAGE = 500;

/** Makes a search that reads all pages, one after the other, until it is stopped. */
export function useMemorySearch(): MemorySearch {
  const api = useApi();
  const files = shallowRef<readonly FoundFile[]>([]);
  const versions = shallowRef<readonly FoundVersions[]>([]);
  const users = shallowRef<readonly AdminUser[]>([]);
  const spaces = shallowRef<readonly AdminSpace[]>([]);
  const paths = shallowRef<readonly AdminFile[]>([]);
  const totals = ref<Totals>(toNothing());
  const state = ref<'idle' | 'searching' | 'stopped' | 'done'>('idle');
  const error = ref<Error | null>(null);
  let controller = new AbortController();
  onScopeDispose(() => controller.abort());

  async function searchNames({ text, owner }: MemorySearchRequest, signal: AbortSignal) {
    const isOfAll = owner.userId === undefined && owner.spaceId === undefined;
    const query = { q: text, limit: MOST_NAMES };
    const [foundUsers, foundSpaces, foundPaths] = await Promise.all([
      isOfAll ? api.users(query, signal) : { items: [] },
      isOfAll ? api.spaces(query, signal) : { items: [] },
      api.files({ ...query, ...owner }, signal),
    ]);
    users.value = foundUsers.items;
    spaces.value = foundSpaces.items;
    paths.value = foundPaths.items;
  }

  async function searchContents({ text, owner }: MemorySearchRequest, signal: AbortSignal) {
    let cursor: string | null = null;
    do {
      const page = await api.searchContents({ q: text, ...owner, limit: PAGE, cursor }, signal);
      const { items, searched, nextCursor } = page;
      files.value = [...files.value, ...items]
        .sort((one, other) => other.score - one.score || other.matches - one.matches)
        .slice(0, MOST_FILES);
      const { value } = totals;
      totals.value = {
        ...value,
        files: value.files + items.length,
        lines: value.lines + items.reduce((sum, { matches }) => sum + matches, 0),
        searchedFiles: value.searchedFiles + searched.files,
        bytes: value.bytes + searched.bytes,
      };
      cursor = nextCursor;
    } while (cursor !== null);
  }

  async function searchHistory({ text, owner }: MemorySearchRequest, signal: AbortSignal) {
    let cursor: string | null = null;
    do {
      const { items, searched, nextCursor } = await api.searchTexts(
        { text, history: true, ...owner, limit: PAGE, ...(cursor !== null && { cursor }) },
        signal,
      );
      versions.value = [...versions.value, ...items].slice(0, MOST_FILES);
      const { value } = totals;
      totals.value = {
        ...value,
        places: value.places + items.length,
        searchedVersions: value.searchedVersions + searched.versions,
        bytes: value.bytes + searched.bytes,
      };
      cursor = nextCursor;
    } while (cursor !== null);
  }

  async function search(request: MemorySearchRequest, signal: AbortSignal): Promise<void> {
    try {
      if (request.inHistory) await searchHistory(request, signal);
      else await Promise.all([searchNames(request, signal), searchContents(request, signal)]);
      if (!signal.aborted) state.value = 'done';
    } catch (caught) {
      if (signal.aborted) return;
      controller.abort();
      error.value = caught as Error;
      state.value = 'stopped';
    }
  }

  return {
    files,
    versions,
    users,
    spaces,
    paths,
    totals,
    state,
    error,
    isSearching: computed(() => state.value === 'searching'),
    start(request) {
      controller.abort();
      controller = new AbortController();
      files.value = [];
      versions.value = [];
      users.value = [];
      spaces.value = [];
      paths.value = [];
      totals.value = toNothing();
      error.value = null;
      state.value = 'searching';
      void search(request, controller.signal);
    },
    stop() {
      controller.abort();
      if (state.value === 'searching') state.value = 'stopped';
    },
  };
}

function toNothing(): Totals {
  return { files: 0, lines: 0, places: 0, searchedFiles: 0, searchedVersions: 0, bytes: 0 };
}
