import ui from '@nuxt/ui/vue-plugin';
import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query';
import { createApp } from 'vue';
import { ApiError } from './api.ts';
import ConsoleApp from './ConsoleApp.vue';
import { createDrafts, draftsKey } from './composables/drafts.ts';
import { createPreferences, preferencesKey } from './composables/preferences.ts';
import { createSession, sessionKey } from './composables/session.ts';
import { createConsoleRouter } from './router.ts';
import { formatTimesIn } from './times.ts';
import './style.css';

// The page's files are at <base>/admin/assets/, which gives the URL of the service.
const consolePath = import.meta.env.DEV
  ? ''
  : new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '');
const preferences = createPreferences();
const session = createSession(
  window.location.origin + (import.meta.env.DEV ? '' : consolePath.replace(/\/admin$/, '')),
  {
    tell: (message) => formatTimesIn(message, preferences.zone.value),
    // The service says whether it answers all of its origin; a prefix is shared with others.
    ownsOrigin:
      consolePath === '/admin' &&
      document.querySelector('meta[name="memory-service-origin"]')?.getAttribute('content') ===
        'own',
  },
);
// Before anything is drawn: its answer arrives meanwhile.
void session.check();

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.retryable,
    },
  },
});

createApp(ConsoleApp)
  .provide(sessionKey, session)
  .provide(draftsKey, createDrafts())
  .provide(preferencesKey, preferences)
  .use(createConsoleRouter(consolePath))
  .use(VueQueryPlugin, { queryClient })
  .use(ui)
  .mount('#app');
