import { useToast } from '@nuxt/ui/composables/useToast';
import { explain } from '../api.ts';

/** Short messages (toasts). */
export interface Notices {
  done(title: string, description?: string): void;
  /** What is no failure, and not done either. */
  told(title: string, description: string): void;
  failed(title: string, error: unknown): void;
}

/** The toasts of the console. */
export function useNotices(): Notices {
  const toast = useToast();
  return {
    done(title, description) {
      toast.add({
        title,
        ...(description === undefined ? {} : { description }),
        color: 'success',
        icon: 'i-lucide-check',
      });
    },
    told(title, description) {
      toast.add({ title, description, color: 'neutral', icon: 'i-lucide-lock' });
    },
    failed(title, error) {
      toast.add({
        title,
        description: explain(error),
        color: 'error',
        icon: 'i-lucide-circle-alert',
        duration: 12_000,
      });
    },
  };
}
