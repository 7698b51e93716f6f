import type { OperationTree } from '../contract/operation.ts';
import type { Spans } from '../tracing/spans.ts';
import type { AppOptions } from './http/app.ts';
import { withTraceHeaders } from './process/network/trace-headers.ts';

/**
 * Runs each request in an OpenTelemetry span, if tracing is on. Requests that the service sends meanwhile to other
 * machines name this span as their parent. Without tracing, they name the caller's span.
 */
export function traced(spans: Promise<Spans> | undefined): NonNullable<AppOptions<OperationTree>['span']> {
  return async (name, parent, act) => {
    if (!spans) return await withTraceHeaders({ traceparent: parent }, act);
    return await (await spans).run({ name, parent }, (headers) => withTraceHeaders(headers, act));
  };
}
