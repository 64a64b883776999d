import { computed, onBeforeUnmount, ref } from 'vue';
import type { AdminFileContent } from '../../../core/contracts/admin.ts';
import { ApiError } from '../api.ts';
import { useDrafts } from './drafts.ts';
import { useNotices } from './notices.ts';
import { useApi } from './session.ts';

/** The edit of one file: its draft, and a conflict with what somebody else wrote meanwhile. */
export type FileEdit = ReturnType<typeof useFileEdit>;

/** Makes the edit of a file; `reload` is called after each write and when the draft is discarded. */
export function useFileEdit(path: string, { reload }: { reload: () => Promise<void> }) {
  const api = useApi();
  const notices = useNotices();
  const isEditing = ref(false);
  const draft = ref('');
  const base = ref({ content: '', version: 0 });
  const reason = ref('');
  const isSaving = ref(false);
  const conflict = ref<AdminFileContent | null>(null);
  const isConflictOpen = ref(false);
  /** The merge of a conflict as far as it was edited. */
  const merge = ref<string | null>(null);
  const isDirty = computed(() => isEditing.value && draft.value !== base.value.content);

  // The lock takes the view away in the middle of an edit.
  const drafts = useDrafts();
  const kept = drafts.take(path);
  if (kept !== null) {
    base.value = kept.base;
    draft.value = kept.content;
    reason.value = kept.reason;
    isEditing.value = true;
    if (kept.conflict !== undefined) openConflict(kept.conflict);
  }
  onBeforeUnmount(() => {
    if (!isDirty.value) return;
    const { value: theirs } = conflict;
    drafts.keep({
      path,
      content: draft.value,
      reason: reason.value,
      base: base.value,
      ...(theirs !== null && isConflictOpen.value && { conflict: { theirs, merge: merge.value } }),
    });
  });

  function openConflict(met: { theirs: AdminFileContent; merge: string | null }): void {
    conflict.value = met.theirs;
    merge.value = met.merge;
    isConflictOpen.value = true;
  }

  function begin({ content, version }: { content: string; version: number }): void {
    base.value = { content, version };
    draft.value = content;
    reason.value = '';
    isEditing.value = true;
  }

  async function save(): Promise<void> {
    if (isSaving.value || !isEditing.value) return;
    isSaving.value = true;
    try {
      const answer = await api.putFile(path, draft.value, {
        reason: reason.value,
        ifVersion: base.value.version,
      });
      isEditing.value = false;
      isConflictOpen.value = false;
      conflict.value = null;
      if (answer.unchanged) {
        notices.done('Nothing to save', 'The file already has this content.');
      } else notices.done(`Saved as version ${answer.version}`, path);
      await reload();
    } catch (error) {
      if (error instanceof ApiError && error.code === 'VERSION_CONFLICT') await meetConflict();
      else notices.failed('Not saved', error);
    } finally {
      isSaving.value = false;
    }
  }

  /** Saves a merge. From here on it is the edit of their version, should there be another conflict. */
  async function saveMerge(content: string): Promise<void> {
    if (conflict.value === null) return;
    base.value = conflict.value;
    draft.value = content;
    await save();
  }

  async function meetConflict(): Promise<void> {
    try {
      openConflict({ theirs: (await api.file(path)).file, merge: null });
    } catch (error) {
      notices.failed('Not saved: someone else deleted the file', error);
    }
  }

  async function discard(): Promise<void> {
    isConflictOpen.value = false;
    isEditing.value = false;
    await reload();
  }

  return {
    isEditing,
    draft,
    base,
    reason,
    isSaving,
    isDirty,
    conflict,
    isConflictOpen,
    merge,
    begin,
    save,
    saveMerge,
    discard,
  };
}
