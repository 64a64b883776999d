import { readonly, ref, type Ref } from 'vue';

/** What was undone last, so that it can be taken back. */
export interface LastUndo {
  summary: string;
  revisionIds: readonly string[];
}

const last = ref<LastUndo | null>(null);

/** What was undone last on this page, for the banner that takes it back. */
export function useLastUndo(): {
  last: Readonly<Ref<LastUndo | null>>;
  set(undo: LastUndo | null): void;
} {
  return {
    last: readonly(last) as Readonly<Ref<LastUndo | null>>,
    set: (undo) => (last.value = undo),
  };
}
