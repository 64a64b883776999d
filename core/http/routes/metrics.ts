import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';

/** Figures for Prometheus. */
export function metricsRoutes(core: Pick<Core, 'metrics'>): RouteDefinition[] {
  return [
    adminRoute('Observability', {
      method: 'GET',
      path: '/metrics',
      role: 'viewer',
      summary: 'Read the metrics of this instance',
      description:
        'In Prometheus’ text format. Labels are tools, outcomes and exporters, never users. The scraper sends the admin secret as a header.',
      resultSchema: null,
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      handle: () => core.metrics.text(),
    }),
  ];
}
