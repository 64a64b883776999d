import { ref, type Ref } from 'vue';
import { type FieldErrors, NO_ERRORS } from '../field-errors.ts';

/** Saving a form that makes something. */
export interface FormSave {
  readonly errors: Ref<FieldErrors>;
  readonly isSaving: Ref<boolean>;
  save(): Promise<void>;
}

/** Saves a form with `work`. A refusal is shown at the fields that `toErrors` finds for it. */
export function useFormSave(
  work: () => Promise<void>,
  toErrors: (error: unknown) => FieldErrors,
): FormSave {
  const errors = ref(NO_ERRORS);
  const isSaving = ref(false);

  async function save(): Promise<void> {
    errors.value = NO_ERRORS;
    isSaving.value = true;
    try {
      await work();
    } catch (error) {
      errors.value = toErrors(error);
    } finally {
      isSaving.value = false;
    }
  }

  return { errors, isSaving, save };
}
