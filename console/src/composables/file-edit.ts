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
  const isDirty = computed(() => isEditing.value && draft.value !== base.value.content);

  // The lock takes the view away in the middle of an edit.
  const drafts = useDrafts();
  const kept = drafts.take(path);
  if (kept !== null) {
    base.value = kept.base;
    draft.value = kept.content;
    reason.value = kept.reason;
    isEditing.value = true;
  }
  onBeforeUnmount(() => {
    if (!isDirty.value) return;
    drafts.keep(path, { content: draft.value, reason: reason.value, base: base.value });
  });

  function begin({ content, version }: { content: string; version: number }): void {
    base.value = { content, version };
    draft.value = content;
    reason.value = '';
    isEditing.value = true;
  }

  async function save(content = draft.value, ifVersion = base.value.version): Promise<void> {
    if (isSaving.value || !isEditing.value) return;
    isSaving.value = true;
    try {
      const answer = await api.putFile(path, content, { reason: reason.value, ifVersion });
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

  async function meetConflict(): Promise<void> {
    try {
      conflict.value = (await api.file(path)).file;
      isConflictOpen.value = true;
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
    ...{ isEditing, draft, base, reason, isSaving, isDirty, conflict, isConflictOpen },
    ...{ begin, save, discard },
  };
}
