import type { Need } from './rights.ts';

/** A view of the console, for the navigation, the palette and the shortcuts. */
export interface NavEntry {
  name: string;
  label: string;
  icon: string;
  /** The key after `g`. */
  key: string;
  /** The page of the docs about it, without its extension. */
  docs: string;
  /** The route without which there is nothing to see. */
  needs?: Need;
}

/** The views, in the order of the navigation. */
export const NAV: readonly NavEntry[] = [
  { name: 'overview', label: 'Overview', icon: 'i-lucide-house', key: 'h', docs: 'start' },
  { name: 'files', label: 'Files', icon: 'i-lucide-folder-tree', key: 'f', docs: 'guides/console' },
  {
    name: 'search',
    label: 'Search',
    icon: 'i-lucide-text-search',
    key: '/',
    docs: 'guides/console',
    needs: 'GET /v1/admin/search',
  },
  {
    name: 'users',
    label: 'Users',
    icon: 'i-lucide-users',
    key: 'm',
    docs: 'guides/undo-and-erase',
  },
  { name: 'spaces', label: 'Spaces', icon: 'i-lucide-boxes', key: 's', docs: 'concepts/spaces' },
  {
    name: 'revisions',
    label: 'Revisions',
    icon: 'i-lucide-git-compare',
    key: 'r',
    docs: 'concepts/revisions',
  },
  {
    name: 'compare',
    label: 'Compare',
    icon: 'i-lucide-history',
    key: 'c',
    docs: 'guides/undo-and-erase',
  },
  {
    name: 'activity',
    label: 'Activity',
    icon: 'i-lucide-list-tree',
    key: 'a',
    docs: 'concepts/access-log',
  },
  {
    name: 'observability',
    label: 'Observability',
    icon: 'i-lucide-chart-line',
    key: 'o',
    docs: 'concepts/observability',
  },
  {
    name: 'usage',
    label: 'Usage',
    icon: 'i-lucide-gauge',
    key: 'w',
    docs: 'guides/console',
  },
  {
    name: 'playground',
    label: 'Playground',
    icon: 'i-lucide-flask-conical',
    key: 'p',
    docs: 'concepts/tools',
  },
  {
    name: 'dreams',
    label: 'Dreams',
    icon: 'i-lucide-moon-star',
    key: 'd',
    docs: 'concepts/dreaming',
  },
  {
    name: 'checks',
    label: 'Checks',
    icon: 'i-lucide-list-checks',
    key: 'e',
    docs: 'guides/tests-for-memory',
  },
  {
    name: 'audit',
    label: 'Audit',
    icon: 'i-lucide-scroll-text',
    key: 'u',
    docs: 'guides/for-your-security-officer',
  },
  {
    name: 'access',
    label: 'Access',
    icon: 'i-lucide-key-round',
    key: 'k',
    docs: 'guides/keys-and-operators',
    needs: 'GET /v1/admin/keys',
  },
  {
    name: 'configuration',
    label: 'Configuration',
    icon: 'i-lucide-sliders-horizontal',
    key: ',',
    docs: 'guides/configuration',
    needs: 'GET /v1/admin/configuration',
  },
];
