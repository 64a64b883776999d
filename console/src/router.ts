import { createRouter, createWebHistory, type Router } from 'vue-router';
import { createScrollMemory } from './keep-scroll.ts';
import { NAV } from './nav.ts';
import OverviewView from './views/OverviewView.vue';

/** Makes the router below `basePath`, which ends in `/admin`. */
export function createConsoleRouter(basePath: string): Router {
  const scroll = createScrollMemory();
  const router = createRouter({
    scrollBehavior: scroll.restore,
    history: createWebHistory(`${basePath}/`),
    routes: [
      { path: '/', name: 'overview', component: OverviewView },
      { path: '/files', name: 'files', component: () => import('./views/FilesView.vue') },
      { path: '/search', name: 'search', component: () => import('./views/SearchView.vue') },
      { path: '/users', name: 'users', component: () => import('./views/UsersView.vue') },
      { path: '/spaces', name: 'spaces', component: () => import('./views/SpacesView.vue') },
      {
        path: '/revisions',
        name: 'revisions',
        component: () => import('./views/RevisionsView.vue'),
      },
      { path: '/compare', name: 'compare', component: () => import('./views/CompareView.vue') },
      { path: '/activity', name: 'activity', component: () => import('./views/ActivityView.vue') },
      {
        path: '/observability',
        name: 'observability',
        component: () => import('./views/ObservabilityView.vue'),
      },
      { path: '/usage', name: 'usage', component: () => import('./views/UsageView.vue') },
      {
        path: '/playground',
        name: 'playground',
        component: () => import('./views/PlaygroundView.vue'),
      },
      { path: '/dreams', name: 'dreams', component: () => import('./views/DreamsView.vue') },
      { path: '/checks', name: 'checks', component: () => import('./views/ChecksView.vue') },
      { path: '/audit', name: 'audit', component: () => import('./views/AuditView.vue') },
      { path: '/access', name: 'access', component: () => import('./views/AccessView.vue') },
      {
        path: '/configuration',
        name: 'configuration',
        component: () => import('./views/ConfigurationView.vue'),
      },
      {
        path: '/:rest(.*)*',
        name: 'absent',
        component: () => import('./views/AbsentView.vue'),
      },
    ],
  });
  router.afterEach((to) => {
    const entry = NAV.find(({ name }) => name === to.name);
    document.title = `${entry?.label ?? 'Console'} · memory-service`;
  });
  router.beforeEach((_to, from) => scroll.save(from.fullPath));
  return router;
}
