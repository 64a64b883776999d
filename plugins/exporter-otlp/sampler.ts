import type { EventRecord } from '../../core/contracts/records.ts';
import type { OtlpSdk } from './sdk.ts';
import type { Sampling } from './settings.ts';

/**
 * Says which events are exported, by OpenTelemetry's own samplers: those of the trace ids that other
 * services choose too, and where it is parent-based, those whose caller's trace is kept.
 */
export function createSampler(
  { api, node }: OtlpSdk,
  { isParentBased, ratio }: Sampling,
): (event: EventRecord) => boolean {
  const own = createRatio(node, ratio);
  const sampler = isParentBased ? new node.ParentBasedSampler({ root: own }) : own;
  return (event) => {
    const { traceId, parentSpanId, parent } = event;
    const context =
      parentSpanId === null || parent === undefined
        ? api.ROOT_CONTEXT
        : api.trace.setSpanContext(api.ROOT_CONTEXT, {
            traceId,
            spanId: parentSpanId,
            traceFlags: parent.isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
            isRemote: parent.isRemote,
          });
    const kind = api.SpanKind.INTERNAL;
    const { decision } = sampler.shouldSample(context, traceId, event.name, kind, {}, []);
    return decision === node.SamplingDecision.RECORD_AND_SAMPLED;
  };
}

function createRatio(node: OtlpSdk['node'], ratio: number) {
  if (ratio === 1) return new node.AlwaysOnSampler();
  if (ratio === 0) return new node.AlwaysOffSampler();
  return new node.TraceIdRatioBasedSampler(ratio);
}
