import { ref, type Ref } from 'vue';
import { ApiError, type Tagged } from '../api.ts';

/** That somebody else has changed a setting since it was read. */
export interface SettingConflict<T> {
  /** The setting as it is now. */
  theirs: Tagged<T>;
  /** Who changed it, and when; `null` where the service does not know. */
  by: string | null;
  at: string | null;
}

/** Saves a setting, unless somebody else has changed it since. */
export interface SettingEdit<T> {
  readonly isSaving: Ref<boolean>;
  /** Why it was not saved; `null` without a failure. */
  readonly failure: Ref<unknown>;
  /** What a person has to decide on: take theirs, or overwrite it. */
  readonly conflict: Ref<SettingConflict<T> | null>;
  /** Returns the saved setting; `null` if it was not saved, and `failure` or `conflict` says why. */
  save(tag: string | null): Promise<T | null>;
}

/** Saves with `If-Match`. On 412 it reads the setting as it is now; the answer says who changed it. */
export function useSettingEdit<T>(options: {
  read: () => Promise<Tagged<T>>;
  write: (tag: string | null) => Promise<T>;
}): SettingEdit<T> {
  const { read, write } = options;
  const isSaving = ref(false);
  const failure = ref<unknown>(null);
  const conflict = ref(null) as Ref<SettingConflict<T> | null>;

  async function save(tag: string | null): Promise<T | null> {
    isSaving.value = true;
    failure.value = null;
    try {
      const saved = await write(tag);
      conflict.value = null;
      return saved;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) await explainConflict(error);
      else failure.value = error;
      return null;
    } finally {
      isSaving.value = false;
    }
  }

  async function explainConflict({ details = {} }: ApiError): Promise<void> {
    const said = (name: string) => {
      const value = details[name];
      return typeof value === 'string' ? value : null;
    };
    try {
      conflict.value = { theirs: await read(), by: said('changedBy'), at: said('changedAt') };
    } catch (error) {
      failure.value = error;
    }
  }

  return { isSaving, failure, conflict, save };
}
